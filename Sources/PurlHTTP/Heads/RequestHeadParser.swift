/// Reads request heads from input that comes in pieces. After an error it is of no further use.
package struct RequestHeadParser: Sendable {
    private var reader: HeadReader<RequestLine>

    package init(limits: HeadLimits = .standard) {
        reader = HeadReader(limits: limits)
    }

    /// Takes bytes from `offset` on and moves `offset` past what it took: never more than to the end of the head.
    /// nil when the head is not complete yet. After a head the parser is ready for the next one.
    package mutating func parse(
        _ input: RawSpan, from offset: inout Int
    ) throws(ParseError) -> RequestHead? {
        guard let (start, fields) = try reader.next(Span(_bytes: input), from: &offset) else { return nil }
        return RequestHead(method: start.method, target: start.target, version: start.version, fields: fields)
    }
}
