/// The value of `Content-Digest` and `Repr-Digest` (RFC 9530): a dictionary of algorithms and byte sequences.
package enum DigestField {
    /// The 32 bytes of the `sha-256` member; nil when there is none, and when the value as a whole is not such a
    /// dictionary (RFC 9651 §4.2: a field that fails to parse is ignored altogether). Other algorithms are
    /// skipped; of two members with the same name the last counts.
    package static func sha256(in text: String) -> [UInt8]? {
        var reader = DigestReader(text)
        guard let digest = reader.lastValue(of: "sha-256"), digest.count == 32 else { return nil }
        return digest
    }
}

/// Reads a structured dictionary (RFC 9651 §4.2.2) all of whose values are byte sequences.
private struct DigestReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The value of the last member called `name`; nil when there is none or the dictionary breaks the grammar.
    mutating func lastValue(of name: String) -> [UInt8]? {
        var found: [UInt8]?
        skip { $0 == .space }
        while position < bytes.count {
            guard let key = key(), take(.equals), let value = byteSequence(), skipParameters() else { return nil }
            if key.elementsEqual(name.utf8) { found = value }
            skip(\.isBlank)
            guard position < bytes.count else { break }
            guard take(.comma) else { return nil }
            skip(\.isBlank)
            // A comma must be followed by a member.
            guard position < bytes.count else { return nil }
        }
        return found
    }

    private mutating func skip(_ condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// `( lcalpha / "*" ) *( lcalpha / DIGIT / "_" / "-" / "." / "*" )`
    private mutating func key() -> ArraySlice<UInt8>? {
        let start = position
        guard position < bytes.count, bytes[position].isSmallLetter || bytes[position] == UInt8(ascii: "*") else {
            return nil
        }
        skip { $0.isSmallLetter || $0.digitValue != nil || "_-.*".utf8.contains($0) }
        return bytes[start..<position]
    }

    /// `":" base64 ":"`
    private mutating func byteSequence() -> [UInt8]? {
        guard take(.colon) else { return nil }
        let start = position
        skip { $0 != .colon }
        let encoded = bytes[start..<position]
        guard take(.colon) else { return nil }
        return Base64.decode(encoded)
    }

    /// `*( ";" *SP key [ "=" bare-item ] )`; they do not concern the digest. False when they break the grammar.
    private mutating func skipParameters() -> Bool {
        while take(.semicolon) {
            skip { $0 == .space }
            guard key() != nil else { return false }
            guard take(.equals) else { continue }
            guard skipBareItem() else { return false }
        }
        return true
    }

    private mutating func skipBareItem() -> Bool {
        guard position < bytes.count else { return false }
        switch bytes[position] {
        case .colon: return byteSequence() != nil
        case .quote: return skipString()
        default:
            // Tokens, numbers, Booleans and dates.
            let start = position
            skip { $0.isTokenByte || ":/?@".utf8.contains($0) }
            return position > start
        }
    }

    private mutating func skipString() -> Bool {
        position += 1
        while position < bytes.count, bytes[position] != .quote {
            if bytes[position] == .backslash { position += 1 }
            position += 1
        }
        return take(.quote)
    }
}

extension UInt8 {
    fileprivate var isSmallLetter: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
}
