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
        guard !target.isEmpty, target.utf8.allSatisfy({ $0.isTargetByte }) else { throw .invalidTarget }
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

/// Reads request heads from input that comes in pieces. After an error it cannot be used further.
package struct RequestHeadParser: Sendable {
    private var reader: HeadReader<RequestLine>

    package init(limits: HeadLimits = .standard) {
        reader = HeadReader(limits: limits)
    }

    /// Takes bytes from `offset` on and moves `offset` past what it took: at most to the end of the head.
    /// nil when the head is not complete yet. After a head the parser is ready for the next one.
    package mutating func parse(
        _ input: RawSpan, from offset: inout Int
    ) throws(ParseError) -> RequestHead? {
        guard let (start, fields) = try reader.next(Span(_bytes: input), from: &offset) else { return nil }
        return RequestHead(method: start.method, target: start.target, version: start.version, fields: fields)
    }
}

/// The first line of a request: `GET /path HTTP/1.1` (RFC 9112 §3). Exactly one blank separates the parts.
struct RequestLine: StartLine {
    static let opening: [UInt8] = []

    let method: RequestMethod
    let target: String
    let version: HTTPVersion

    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) {
        var position = range.lowerBound
        while position < range.upperBound, bytes[position].isTokenByte { position += 1 }
        guard position < range.upperBound else { throw .malformedStartLine }
        guard position > range.lowerBound, bytes[position] == .space else { throw .invalidMethod }
        let methodRange = range.lowerBound..<position

        let targetStart = position + 1
        position = targetStart
        while position < range.upperBound, bytes[position].isTargetByte { position += 1 }
        guard position < range.upperBound else { throw .malformedStartLine }
        guard position > targetStart, bytes[position] == .space else { throw .invalidTarget }
        let targetRange = targetStart..<position

        guard range.upperBound - position == 9 else { throw .malformedVersion }
        version = try HTTPVersion(bytes, (position + 1)..<range.upperBound)
        method = RequestMethod(String(asciiIn: bytes, methodRange))
        target = String(asciiIn: bytes, targetRange)
    }
}

extension String {
    /// The text of bytes that are known to be ASCII.
    fileprivate init(asciiIn bytes: Span<UInt8>, _ range: Range<Int>) {
        var text: [UInt8] = []
        text.append(bytes, range)
        self.init(decoding: text, as: UTF8.self)
    }
}
