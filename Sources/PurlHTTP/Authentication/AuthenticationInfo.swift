/// What a server adds to a response when the request proved who asked (RFC 7615 §3).
package struct AuthenticationInfo: Sendable, Hashable {
    /// The nonce for the next request (RFC 7616 §3.5).
    package var nextNonce: String?

    /// Reads the fields of that name. Parts that are no parameters are passed over.
    package init(_ fields: HeaderFields, _ name: FieldName) {
        for line in fields.lines where fields.matches(line, name) {
            var scanner = ListScanner(line.value)
            while let range = scanner.next(in: fields.bytes) {
                guard let parameter = FieldParameter(element: fields.bytes[range]) else { continue }
                if parameter.name == "nextnonce", nextNonce == nil { nextNonce = parameter.value }
            }
        }
    }
}
