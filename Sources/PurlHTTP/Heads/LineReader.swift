/// Divides input that comes in pieces into lines, and holds the beginning of a line whose end has not come yet.
///
/// A line ends with LF; one CR before it belongs to the end (RFC 9112 §2.2). A line that lies in one piece is not
/// copied. All lines together may not be longer than the limit, so no more than that is ever held.
struct LineReader: Sendable {
    /// A line without its end.
    enum Line {
        /// It lies in the input.
        case input(Range<Int>)
        /// It came in several pieces, joined here.
        case held([UInt8])
    }

    private let limit: Int
    private let limitError: ParseError
    private var allowance: Int
    private var held: [UInt8] = []

    /// A reader whose lines, ends included, may be `limit` bytes long; `limitError` is thrown when they are longer.
    init(limit: Int, limitError: ParseError) {
        self.limit = max(0, limit)
        self.limitError = limitError
        allowance = self.limit
    }

    /// Whether the beginning of a line is held.
    private var hasPartialLine: Bool { !held.isEmpty }

    /// Whether the line whose beginning is held, if any, can begin with `opening`, or be an empty one.
    func heldLine(mayBeginWith opening: [UInt8]) -> Bool {
        held == [.carriageReturn] || zip(held, opening).allSatisfy { $0 == $1 }
    }

    /// Starts over for the next section.
    mutating func reset() {
        allowance = limit
        held = []
    }

    /// The next line from `offset` on; moves `offset` past the bytes taken. nil when its end has not come yet.
    mutating func next(in input: Span<UInt8>, from offset: inout Int) throws(ParseError) -> Line? {
        guard offset >= 0, offset < input.count else { return nil }
        let start = offset
        let window = min(input.count - start, allowance)
        let end = start + window
        let position = input.lineFeed(in: start..<end)
        guard position < end else {
            // The line needs at least one more byte, so a limit that is used up is exceeded.
            guard window < allowance else { throw limitError }
            held.append(input, start..<end)
            allowance -= window
            offset = end
            return nil
        }

        allowance -= position - start + 1
        offset = position + 1
        guard hasPartialLine else {
            let hasReturn = position > start && input[position - 1] == .carriageReturn
            return .input(start..<(hasReturn ? position - 1 : position))
        }
        var line = held
        held = []
        line.append(input, start..<position)
        if line.last == .carriageReturn { line.removeLast() }
        return .held(line)
    }
}
