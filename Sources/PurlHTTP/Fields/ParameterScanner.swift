/// Reads `*( OWS ";" OWS [ parameter ] )` (RFC 9110 §5.6.6) the way servers write it: blanks around `=`, values
/// with characters no token has, and a quote that is never closed are all taken for what they seem to mean.
struct ParameterScanner {
    private let bytes: [UInt8]
    private var position: Int

    /// A scanner over a whole field value.
    init(_ text: String) {
        bytes = Array(text.utf8)
        position = 0
    }

    /// What stands before the first semicolon, without blanks around it.
    mutating func leadingItem() -> String {
        String(decoding: bytes[upToSemicolon()].trimmingBlanks(), as: UTF8.self)
    }

    /// All parameters from here on. Parts without a name or an equals sign are passed over.
    mutating func parameters() -> [FieldParameter] {
        var parameters: [FieldParameter] = []
        while position < bytes.count {
            // Here stands a semicolon.
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
        // Whatever stands between the closing quote and the next semicolon means nothing.
        _ = upToSemicolon()
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func upToSemicolon() -> Range<Int> {
        let start = position
        while position < bytes.count, bytes[position] != .semicolon { position += 1 }
        return start..<position
    }
}
