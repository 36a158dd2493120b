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
        bytes = try Self.read(path, name)
        guard bytes.count <= Self.maximumLength else { throw CommandFailure("\(name) is too long for a list.") }
    }

    private static func read(_ path: String, _ name: String) throws(CommandFailure) -> Data {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw CommandFailure("There is no file \(name).") }
            throw CommandFailure("\(name) cannot be read: \(String(cString: strerror(errno))).")
        }
        defer { if path != "-" { close(descriptor) } }
        var bytes = Data()
        var piece = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= maximumLength {
            let count = Foundation.read(descriptor, &piece, piece.count)
            guard count >= 0 || errno == EINTR else {
                throw CommandFailure("\(name) cannot be read: \(String(cString: strerror(errno))).")
            }
            if count == 0 { break }
            bytes += piece.prefix(max(0, count))
        }
        return bytes
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
