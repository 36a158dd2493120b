import Foundation

/// A list that an option names, read as a whole; “-” is standard input.
struct ListFile {
    /// The longest file accepted, in bytes.
    private static let maximumLength = 64 << 20

    let bytes: Data
    /// The file's name in messages.
    let name: String

    init(_ path: String) throws(CommandFailure) {
        name = path == "-" ? "standard input" : "“\(path)”"
        let data: Data?
        do {
            let file =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try file.read(upToCount: Self.maximumLength + 1)
        } catch {
            throw CommandFailure("\(name) cannot be read.")
        }
        bytes = data ?? Data()
        guard bytes.count <= Self.maximumLength else { throw CommandFailure("\(name) is too long for a list.") }
    }

    /// The bytes as text. Throws when they are not UTF-8.
    func text() throws(CommandFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(name) is not UTF-8 text.")
        }
        // Some editors write a byte order mark first.
        return text.hasPrefix("\u{FEFF}") ? String(text.unicodeScalars.dropFirst()) : text
    }
}
