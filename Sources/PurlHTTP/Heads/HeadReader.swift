/// Reads heads of either direction, each a start line, field lines and an empty line, from input in pieces.
///
/// Theory of operation: `LineReader` finds lines and limits their size. The first line that is not empty is the start
/// line; each further one goes into the fields at once, so that a broken head fails at its first broken line and
/// no byte is read twice. The empty line ends the head, and the reader is ready for the next.
struct HeadReader<Start: StartLine>: Sendable {
    private let limits: HeadLimits
    private var lines: LineReader
    private var start: Start?
    private var fields = HeaderFields()

    init(limits: HeadLimits) {
        self.limits = limits
        lines = LineReader(limit: limits.maximumBytes, limitError: .headTooLarge)
    }

    /// Takes bytes from `offset` on. nil when the head is not complete yet.
    mutating func next(
        _ input: Span<UInt8>, from offset: inout Int
    ) throws(ParseError) -> (start: Start, fields: HeaderFields)? {
        while let line = try lines.next(in: input, from: &offset) {
            let isEnd =
                switch line {
                case .input(let range): try take(input, range)
                case .held(let bytes): try take(bytes.span, 0..<bytes.count)
                }
            if isEnd, let finished = start {
                let section = fields
                start = nil
                fields = HeaderFields()
                lines.reset()
                return (finished, section)
            }
        }
        // What cannot become a start line is not waited for: its end may never come.
        if start == nil, !lines.heldLine(mayBeginWith: Start.opening) { throw .malformedStartLine }
        return nil
    }

    /// Takes one line. Returns whether it was the empty one after the fields.
    private mutating func take(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) -> Bool {
        guard start != nil else {
            // RFC 9112 §2.2: empty lines before a start line are skipped.
            guard !range.isEmpty else { return false }
            start = try Start(bytes, range)
            fields.reserve(bytes: 384, lines: 12)
            return false
        }
        guard !range.isEmpty else { return true }
        try fields.parseLine(bytes, range, maximumFields: limits.maximumFields)
        return false
    }
}

/// The first line of a head.
protocol StartLine: Sendable {
    /// What every such line begins with; empty where that differs.
    static var opening: [UInt8] { get }

    /// Reads the line that lies in `range` of `bytes`, its end not included.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError)
}
