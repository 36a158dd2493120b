/// The coding of a parameter whose name ends with `*` (RFC 8187): `UTF-8'en'na%C3%AFve`.
package struct ExtendedValue: Sendable, Hashable {
    /// The decoded text.
    package var text: String

    package init(text: String) {
        self.text = text
    }

    /// Reads UTF-8 and ISO-8859-1; the language is skipped. nil for another charset, a broken percent code
    /// and bytes that are not valid in the charset.
    package init?(_ value: String) {
        let parts = Array(value.utf8).split(separator: 0x27, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = ExtendedValue.percentDecoded(parts[2]) else { return nil }
        let charset = String(decoding: parts[0], as: UTF8.self)
        if charset.equalsIgnoringCase("utf-8") {
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            self.text = text
        } else if charset.equalsIgnoringCase("iso-8859-1") {
            text = String(latin1: bytes)
        } else {
            return nil
        }
    }

    private static func percentDecoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == 0x25 {
                guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                    return nil
                }
                decoded.append(UInt8(high << 4 | low))
            } else {
                guard byte > 0x20, byte < 0x7F else { return nil }
                decoded.append(byte)
            }
        }
        return decoded
    }
}

extension ExtendedValue: CustomStringConvertible {
    /// As it goes on the wire, in UTF-8.
    package var description: String {
        var coded = "UTF-8''"
        for byte in text.utf8 {
            // `attr-char`: a token character other than `%`, `'` and `*`.
            if byte.isTokenByte, byte != 0x25, byte != 0x27, byte != 0x2A {
                coded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let code = String(byte, radix: 16, uppercase: true)
                coded += code.utf8.count == 1 ? "%0" + code : "%" + code
            }
        }
        return coded
    }
}
