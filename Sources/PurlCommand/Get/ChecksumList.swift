import Foundation

/// The SHA-256 of several files, from a list as `sha256sum` writes it.
///
/// A line is 64 hexadecimal digits, a space, a space or an asterisk, and a name; or, as with `--tag`, `SHA256 (NAME) = DIGITS`.
/// A backslash before it says that `\\`, `\n` and `\r` in the name stand for a backslash, a line feed and a carriage return.
/// Empty lines, those that begin with `#`, tagged lines of other algorithms and an OpenPGP signature around the list are
/// skipped, which is not checked.
struct ChecksumList: Sendable {
    private struct Entry {
        let checksum: Checksum
        /// The line's number.
        let line: Int
    }

    /// The list's name in messages.
    private let name: String
    private var entries: [String: Entry] = [:]
    /// The names that end with the same component, by that.
    private var names: [String: [String]] = [:]

    /// Reads a list. Throws when a line is not one that `sha256sum` writes.
    init(_ file: ListFile) throws(CommandFailure) {
        try self.init(bytes: file.bytes, name: file.name)
    }

    /// - Parameter name: The list's name in messages.
    init(bytes: Data, name: String) throws(CommandFailure) {
        self.name = name
        var isBeforeSignedText = false
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if line.starts(with: Self.signature) { break }
            if isBeforeSignedText || line.starts(with: Self.signedText) {
                isBeforeSignedText = !line.isEmpty
                continue
            }
            switch ChecksumLine(line) {
            case .nothing: break
            case .checksum(let checksum, let name): try add(Entry(checksum: checksum, line: index + 1), name)
            case nil:
                let text = String(decoding: line.prefix(Self.longestQuote), as: UTF8.self)
                throw CommandFailure(
                    "Line \(index + 1) of \(name) is not a SHA-256 and a name, as sha256sum writes them: “\(text)”.")
            }
        }
        guard !entries.isEmpty else { throw CommandFailure("There is no SHA-256 in \(name).") }
    }

    /// The checksum of a file: that of its path, or else of the one file in the list that has its name.
    func checksum(of path: String) throws(CommandFailure) -> Checksum {
        let path = Self.shortened(path)
        if let entry = entries[path] { return entry.checksum }
        let found = (names[Self.lastComponent(path)] ?? []).compactMap { entries[$0] }
        guard let first = found.first else { throw CommandFailure("“\(path)” is not in \(name).") }
        if let other = found.first(where: { $0.checksum != first.checksum }) {
            throw CommandFailure(
                "“\(path)” may be either file in lines \(first.line) and \(other.line) of \(name). Use --sha256.")
        }
        return first.checksum
    }

    private static let signedText = Data("-----BEGIN PGP SIGNED MESSAGE-----".utf8)
    private static let signature = Data("-----BEGIN PGP SIGNATURE-----".utf8)
    /// How many bytes of a wrong line are shown.
    private static let longestQuote = 80

    private mutating func add(_ entry: Entry, _ path: String) throws(CommandFailure) {
        let path = Self.shortened(path)
        if let earlier = entries[path] {
            guard earlier.checksum == entry.checksum else {
                throw CommandFailure(
                    "Line \(entry.line) of \(name): “\(path)” has another SHA-256 in line \(earlier.line).")
            }
            return
        }
        entries[path] = entry
        names[Self.lastComponent(path), default: []].append(path)
    }

    /// A path without `./` before it.
    private static func shortened(_ path: String) -> String {
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        return String(rest)
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}

/// What a line of a list says that `sha256sum` writes.
enum ChecksumLine {
    /// Nothing about a file that purl could save: an empty line, a comment, another algorithm, a name that is not UTF-8.
    case nothing
    case checksum(Checksum, String)

    /// `nil` for what `sha256sum` does not write.
    init?(_ line: Data) {
        guard line.first != UInt8(ascii: "#"), !line.isEmpty else {
            self = .nothing
            return
        }
        var rest = line.drop(while: Self.isBlank)
        let isEscaped = rest.first == UInt8(ascii: "\\")
        if isEscaped { rest = rest.dropFirst() }
        guard let (digits, name) = Self.plain(rest) ?? Self.tagged(rest), !name.isEmpty,
            let bytes = isEscaped ? Self.unescaped(name) : Data(name), !bytes.contains(0)
        else { return nil }
        guard let digits, let text = String(validating: bytes, as: UTF8.self) else {
            self = .nothing
            return
        }
        self = .checksum(digits, text)
    }

    /// `DIGITS  NAME` or `DIGITS *NAME`; also with one space, as some systems write it.
    private static func plain(_ line: Data) -> (Checksum?, Data)? {
        guard let checksum = Checksum(String(decoding: line.prefix(digitCount), as: UTF8.self)),
            case let rest = line.dropFirst(digitCount), let separator = rest.first, isBlank(separator)
        else { return nil }
        let name = rest.dropFirst()
        let hasMark = name.first == UInt8(ascii: " ") || name.first == UInt8(ascii: "*")
        return (checksum, hasMark ? name.dropFirst() : name)
    }

    /// `SHA256 (NAME) = DIGITS`. Without a checksum for another algorithm.
    private static func tagged(_ line: Data) -> (Checksum?, Data)? {
        let algorithm = line.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "(") }
        var rest = line[algorithm.endIndex...]
        if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
        guard !algorithm.isEmpty, rest.first == UInt8(ascii: "("), let end = rest.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let name = rest[rest.index(after: rest.startIndex)..<end]
        rest = rest[rest.index(after: end)...].drop(while: isBlank)
        guard rest.first == UInt8(ascii: "=") else { return nil }
        let digits = String(decoding: rest.dropFirst().drop(while: isBlank), as: UTF8.self)
        guard algorithm.elementsEqual("SHA256".utf8) else {
            return !digits.isEmpty && digits.allSatisfy(\.isHexDigit) ? (nil, name) : nil
        }
        return Checksum(digits).map { ($0, name) }
    }

    /// `nil` where a backslash stands before anything else than these three.
    private static func unescaped(_ name: Data) -> Data? {
        var bytes = Data()
        var rest = name
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
            case .some, nil: return nil
            }
        }
        return bytes
    }

    private static let digitCount = 64

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
