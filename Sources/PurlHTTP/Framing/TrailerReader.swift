/// Reads the trailer section after the last chunk: field lines and an empty line (RFC 9112 §7.1.2).
struct TrailerReader: Sendable {
    private let maximumFields: Int
    private var lines: LineReader
    private var fields = HeaderFields()

    init(limits: HeadLimits) {
        maximumFields = limits.maximumFields
        lines = LineReader(limit: limits.maximumTrailerBytes, limitError: .trailersTooLarge)
    }

    /// The trailers once the empty line has come; nil when more input is needed.
    mutating func next(_ input: Span<UInt8>, from offset: inout Int) throws(ParseError) -> HeaderFields? {
        while let line = try lines.next(in: input, from: &offset) {
            let isEnd =
                switch line {
                case .input(let range): try take(input, range)
                case .held(let bytes): try take(bytes.span, 0..<bytes.count)
                }
            if isEnd { return fields }
        }
        return nil
    }

    /// Whether the line was the empty one.
    private mutating func take(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) -> Bool {
        guard !range.isEmpty else { return true }
        try fields.parseLine(bytes, range, maximumFields: maximumFields)
        return false
    }
}
