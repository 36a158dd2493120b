import Foundation

/// A folder with a file for each letter.
struct LetterBox: Sendable {
    let folder: URL

    /// Adds a letter behind those that are there.
    func add(_ letter: Letter) throws {
        try Data(letter.text.utf8).write(to: file(letters.count + 1), options: .atomic)
    }

    /// Puts a letter at its own place, where it may be already.
    func put(_ letter: Letter) throws {
        try Data(letter.text.utf8).write(to: file(letter.number), options: .atomic)
    }

    /// What the letters say, in the order of their places.
    var letters: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let places = names.compactMap { Int($0) }.sorted()
        return places.compactMap { try? String(contentsOf: file($0), encoding: .utf8) }
    }

    private func file(_ place: Int) -> URL {
        folder.appendingPathComponent("\(place)", isDirectory: false)
    }
}
