/// Version, status, reason and fields of a response.
package struct ResponseHead: Sendable, Equatable {
    package var version: HTTPVersion
    /// 100 to 999 when it came from a parser.
    package var status: Int
    /// For people only; may be empty.
    package var reason: String
    package var fields: HeaderFields

    /// A head; without a reason it gets the standard phrase of its status.
    package init(
        version: HTTPVersion = .http1_1, status: Int, reason: String? = nil, fields: HeaderFields = [:]
    ) {
        self.version = version
        self.status = status
        self.reason = reason ?? ResponseHead.standardReason(for: status)
        self.fields = fields
    }

    /// Whether this is a 1xx head. 101 is one too: whether the protocol was switched is for the caller to judge.
    package var isInterim: Bool { (100...199).contains(status) }
}

extension ResponseHead {
    /// Appends the head with the empty line after it.
    /// Throws, and appends nothing, when a part could break the message (response splitting).
    package func encode(into bytes: inout [UInt8]) throws(EncodeError) {
        guard version.isWritable else { throw .invalidVersion }
        guard (100...999).contains(status) else { throw .invalidStatus }
        guard reason.utf8.allSatisfy(\.isFieldValueByte) else { throw .invalidReason }
        try fields.validate()

        bytes.reserveCapacity(bytes.count + reason.utf8.count + 17 + fields.encodedByteCount)
        bytes.append(contentsOf: version == .http1_0 ? "HTTP/1.0".utf8 : "HTTP/1.1".utf8)
        bytes.append(.space)
        bytes.append(contentsOf: String(status).utf8)
        bytes.append(.space)
        bytes.append(contentsOf: reason.utf8)
        bytes.appendLineEnd()
        fields.encodeValidated(into: &bytes)
    }
}
