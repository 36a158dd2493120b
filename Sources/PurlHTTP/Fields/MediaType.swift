/// A media type (RFC 9110 §8.3.1): `text/html; charset="utf-8"`.
package struct MediaType: Sendable, Hashable {
    /// In lower case.
    package var type: String
    /// In lower case.
    package var subtype: String
    /// In the order written.
    package var parameters: [FieldParameter]

    package init(type: String, subtype: String, parameters: [FieldParameter] = []) {
        self.type = type.asciiLowercased
        self.subtype = subtype.asciiLowercased
        self.parameters = parameters
    }

    /// Reads a media type; nil when type or subtype is missing or is not a token.
    package init?(_ text: String) {
        var scanner = ParameterScanner(text)
        let parts = scanner.leadingItem().utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
        guard parts.count == 2, let type = String(parts[0]), let subtype = String(parts[1]),
            type.isToken, subtype.isToken
        else { return nil }
        self.init(type: type, subtype: subtype, parameters: scanner.parameters())
    }

    /// Type and subtype alone: `text/html`.
    package var essence: String { type + "/" + subtype }

    /// The charset as it was written; nil when there is none.
    package var charset: String? { parameters.first(named: "charset") }
}

extension MediaType: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        ([essence] + parameters.map { $0.description }).joined(separator: "; ")
    }
}
