/// The name of a header or trailer field. The case it was written in is kept for output;
/// equality and hashing ignore the case of ASCII letters (RFC 9110 §5.1).
package struct FieldName: Sendable {
    /// The name as it goes on the wire.
    package let text: String

    /// A name with the given spelling. Any text is taken; encoding refuses what is no token.
    package init(_ name: String) {
        text = name
    }
}

extension FieldName: Hashable {
    package static func == (left: FieldName, right: FieldName) -> Bool {
        left.text.equalsIgnoringCase(right.text)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte.lowercased) }
        // No byte of UTF-8 is 0xFF, so names cannot run into what is hashed next.
        hasher.combine(0xFF as UInt8)
    }
}

extension FieldName: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral name: String) {
        text = name
    }

    package var description: String { text }
}
