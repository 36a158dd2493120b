/// One `name=value` after a semicolon.
package struct FieldParameter: Sendable, Hashable {
    /// In lower case.
    package var name: String
    /// Without quotes and escapes.
    package var value: String

    package init(name: String, value: String) {
        self.name = name.asciiLowercased
        self.value = value
    }
}

extension FieldParameter: CustomStringConvertible {
    /// As it goes on the wire: a value that is not a token is quoted.
    package var description: String {
        value.isToken ? "\(name)=\(value)" : "\(name)=\(value.quotedString)"
    }
}

extension [FieldParameter] {
    /// The value of the first parameter of that name, which is given in lower case.
    func first(named name: String) -> String? {
        first { $0.name == name }?.value
    }
}

extension FieldParameter {
    /// Reads one element of a list of `name=value`; the value may be quoted, and blanks around the equals sign are
    /// skipped. nil when the first word is not followed by an equals sign.
    init?(element: ArraySlice<UInt8>) {
        let word = element.prefix(while: { $0.isTokenByte })
        let rest = element[word.endIndex...].drop(while: { $0.isBlank })
        guard !word.isEmpty, rest.first == .equals else { return nil }
        self.init(
            name: String(fieldBytes: word),
            value: FieldParameter.unquoted(rest.dropFirst().trimmingBlanks()))
    }

    /// The text of a token or of a quoted string; one that is never closed reaches to the end.
    private static func unquoted(_ value: ArraySlice<UInt8>) -> String {
        guard value.first == .quote else { return String(fieldBytes: value) }
        var text: [UInt8] = []
        var rest = value.dropFirst()
        while let byte = rest.popFirst(), byte != .quote {
            if byte == .backslash, let escaped = rest.popFirst() {
                text.append(escaped)
            } else {
                text.append(byte)
            }
        }
        return String(fieldBytes: text[...])
    }
}

/// Reads `*( OWS ";" OWS [ parameter ] )` (RFC 9110 §5.6.6) the way servers write it: blanks around `=`, values
/// with characters that are not token characters, and a quote that is never closed are accepted.
struct ParameterScanner {
    private let bytes: [UInt8]
    private var position: Int

    /// A scanner over a whole field value.
    init(_ text: String) {
        bytes = Array(text.utf8)
        position = 0
    }

    /// The text before the first semicolon, without blanks around it.
    mutating func leadingItem() -> String {
        String(decoding: bytes[upToSemicolon()].trimmingBlanks(), as: UTF8.self)
    }

    /// All parameters from here on. Parts without a name or an equals sign are skipped.
    mutating func parameters() -> [FieldParameter] {
        var parameters: [FieldParameter] = []
        while position < bytes.count {
            // The byte at this position is a semicolon.
            position += 1
            let start = position
            while position < bytes.count, bytes[position] != .equals, bytes[position] != .semicolon { position += 1 }
            guard position < bytes.count, bytes[position] == .equals else { continue }
            let name = String(decoding: bytes[start..<position].trimmingBlanks(), as: UTF8.self)
            position += 1
            let value = self.value()
            if name.isToken { parameters.append(FieldParameter(name: name, value: value)) }
        }
        return parameters
    }

    private mutating func value() -> String {
        while position < bytes.count, bytes[position].isBlank { position += 1 }
        guard position < bytes.count, bytes[position] == .quote else {
            return String(decoding: bytes[upToSemicolon()].trimmingBlanks(), as: UTF8.self)
        }
        position += 1
        var text: [UInt8] = []
        while position < bytes.count, bytes[position] != .quote {
            if bytes[position] == .backslash, position + 1 < bytes.count { position += 1 }
            text.append(bytes[position])
            position += 1
        }
        // What follows the closing quote up to the next semicolon is ignored.
        _ = upToSemicolon()
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func upToSemicolon() -> Range<Int> {
        let start = position
        while position < bytes.count, bytes[position] != .semicolon { position += 1 }
        return start..<position
    }
}
