/// Method, target, version and fields of a request.
package struct RequestHead: Sendable, Equatable {
    package var method: RequestMethod
    /// The request target exactly as it goes on the wire: origin, absolute, authority or asterisk form.
    package var target: String
    package var version: HTTPVersion
    package var fields: HeaderFields

    package init(method: RequestMethod, target: String, version: HTTPVersion = .http1_1, fields: HeaderFields = [:]) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
    }
}

extension RequestHead {
    /// Appends the head with the empty line after it.
    /// Throws, and appends nothing, when a part could break the message (request splitting).
    package func encode(into bytes: inout [UInt8]) throws(EncodeError) {
        guard version.isWritable else { throw .invalidVersion }
        guard method.name.isToken else { throw .invalidMethod }
        guard !target.isEmpty, target.utf8.allSatisfy(\.isTargetByte) else { throw .invalidTarget }
        try fields.validate()

        bytes.reserveCapacity(bytes.count + method.name.utf8.count + target.utf8.count + 14 + fields.encodedByteCount)
        bytes.append(contentsOf: method.name.utf8)
        bytes.append(.space)
        bytes.append(contentsOf: target.utf8)
        bytes.append(.space)
        bytes.append(contentsOf: version == .http1_0 ? "HTTP/1.0".utf8 : "HTTP/1.1".utf8)
        bytes.appendLineEnd()
        fields.encodeValidated(into: &bytes)
    }
}
