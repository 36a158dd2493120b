/// The first line of a request: `GET /path HTTP/1.1` (RFC 9112 §3). Parts are divided by exactly one blank.
struct RequestLine: StartLine {
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
