import Foundation

/// Takes all letters to a letter box.
typealias Postman = @Sendable (PostOffice, LetterBox) async throws -> Void

/// Takes a letter, then saves it.
@Sendable func hastyPostman(_ office: PostOffice, _ box: LetterBox) async throws {
    while let letter = try await office.next() {
        try await office.take(letter)
        try box.add(letter)
    }
}

/// Saves a letter, then takes it.
@Sendable func carefulPostman(_ office: PostOffice, _ box: LetterBox) async throws {
    while let letter = try await office.next() {
        try box.add(letter)
        try await office.take(letter)
    }
}

/// Saves a letter where another one of the same number would be saved, then takes it.
@Sendable func goodPostman(_ office: PostOffice, _ box: LetterBox) async throws {
    while let letter = try await office.next() {
        try box.put(letter)
        try await office.take(letter)
    }
}
