import Foundation
import Purl

/// A letter that waits at the post office.
struct Letter: Codable, Sendable {
    let number: Int
    let text: String
}

/// The post office, as its clients see it.
struct PostOffice: Sendable {
    let letters: URL

    /// The first letter that waits; `nil` when there is none.
    func next() async throws -> Letter? {
        let (data, response) = try await URLSession.shared.data(from: letters)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { return nil }
        return try JSONDecoder().decode(Letter.self, from: data)
    }

    /// Says that a letter was taken. It waits no longer.
    func take(_ letter: Letter) async throws {
        var request = URLRequest(url: letters.appendingPathComponent("\(letter.number)"))
        request.httpMethod = "DELETE"
        _ = try await URLSession.shared.data(for: request)
    }
}
