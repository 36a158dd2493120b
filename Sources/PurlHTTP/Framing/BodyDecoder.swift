/// Finds the body of a message in input that comes in pieces. It copies no bytes: events carry ranges of the input.
///
/// Theory of operation, the whole transition table:
/// ```
/// length(n)   n bytes                      → bytes …, then at 0 end → ended
/// untilClose  bytes until endOfStream      → bytes …, then end      → ended
/// chunkSize   size line, size > 0          → chunkData
///             size line, size = 0          → trailers
/// chunkData   size bytes                   → bytes …, then chunkEnd
/// chunkEnd    CR LF                        → chunkSize
/// trailers    field lines, empty line      → end                    → ended
/// ```
package struct BodyDecoder: Sendable {
    private enum State {
        case length(Int64)
        case untilClose
        case chunkSize
        case chunkData(Int64)
        case chunkEnd(sawReturn: Bool)
        case trailers
        case ended
    }

    private var state: State
    private var sizeReader: ChunkSizeReader
    private var trailerReader: TrailerReader

    package init(_ framing: BodyFraming, limits: HeadLimits = .standard) {
        state =
            switch framing {
            case .none: .length(0)
            case .length(let count): .length(count)
            case .chunked: .chunkSize
            case .untilClose: .untilClose
            }
        sizeReader = ChunkSizeReader(limit: limits.maximumChunkExtensionBytes)
        trailerReader = TrailerReader(limits: limits)
    }

    /// Whether `decode` or `endOfStream` has returned `.end`.
    package var isComplete: Bool {
        if case .ended = state { true } else { false }
    }

    /// How many bytes of a body of known length are left; nil for chunks, a body until close and a complete body.
    package var plainRemainder: Int64? {
        if case .length(let remaining) = state, remaining > 0 { remaining } else { nil }
    }

    /// Counts bytes of the plain remainder that were received without this decoder.
    package mutating func skip(_ count: Int) {
        guard let remaining = plainRemainder, count > 0 else { return }
        state = .length(max(0, remaining - Int64(count)))
    }

    /// Takes bytes from `offset` on and moves `offset` past what it took. nil: needs more input, all of this one is
    /// taken. An empty body gives `.end` at once, on empty input too. After `.end` it returns nil and takes no bytes.
    package mutating func decode(_ input: RawSpan, from offset: inout Int) throws(ParseError) -> BodyEvent? {
        guard offset >= 0 else { return nil }
        let bytes = Span<UInt8>(_bytes: input)
        while true {
            switch state {
            case .ended:
                return nil
            case .length(let remaining) where remaining <= 0:
                state = .ended
                return .end(trailers: [:])
            case .length(let remaining):
                guard let range = take(remaining, of: bytes, from: &offset) else { return nil }
                state = .length(remaining - Int64(range.count))
                return .bytes(range)
            case .untilClose:
                guard let range = take(.max, of: bytes, from: &offset) else { return nil }
                return .bytes(range)
            case .chunkSize:
                guard let size = try sizeReader.next(bytes, from: &offset) else { return nil }
                state = size == 0 ? .trailers : .chunkData(size)
            case .chunkData(let remaining):
                guard let range = take(remaining, of: bytes, from: &offset) else { return nil }
                let rest = remaining - Int64(range.count)
                state = rest == 0 ? .chunkEnd(sawReturn: false) : .chunkData(rest)
                return .bytes(range)
            case .chunkEnd(let sawReturn):
                guard offset < bytes.count else { return nil }
                try takeChunkEnd(bytes[offset], sawReturn)
                offset += 1
            case .trailers:
                guard let trailers = try trailerReader.next(bytes, from: &offset) else { return nil }
                state = .ended
                return .end(trailers: trailers)
            }
        }
    }

    /// Ends the body because the peer closed the connection. Throws `.prematureEnd` unless the body is complete or runs
    /// until the close.
    package mutating func endOfStream() throws(ParseError) -> BodyEvent {
        switch state {
        case .untilClose, .ended:
            state = .ended
            return .end(trailers: [:])
        case .length(let remaining) where remaining <= 0:
            state = .ended
            return .end(trailers: [:])
        case .length, .chunkSize, .chunkData, .chunkEnd, .trailers:
            throw .prematureEnd
        }
    }

    private func take(_ wanted: Int64, of bytes: Span<UInt8>, from offset: inout Int) -> Range<Int>? {
        guard offset < bytes.count else { return nil }
        let start = offset
        offset += Int(min(wanted, Int64(bytes.count - start)))
        return start..<offset
    }

    private mutating func takeChunkEnd(_ byte: UInt8, _ sawReturn: Bool) throws(ParseError) {
        // RFC 9112 §2.2 lets LF alone end a head's lines, not a chunk: there it would turn the CR into data.
        if byte == .lineFeed, sawReturn {
            state = .chunkSize
        } else if byte == .carriageReturn, !sawReturn {
            state = .chunkEnd(sawReturn: true)
        } else {
            throw .missingChunkEnd
        }
    }
}

/// One part of a body that the decoder found.
package enum BodyEvent: Equatable, Sendable {
    /// Bytes of the body: offsets in the input of that call.
    case bytes(Range<Int>)
    /// The body is complete. Only the chunked coding has trailers.
    case end(trailers: HeaderFields)
}

/// Reads the line before a chunk's data: `1*HEXDIG [ chunk-ext ] CRLF` (RFC 9112 §7.1). Extensions are skipped.
struct ChunkSizeReader: Sendable {
    private enum Part {
        /// Before the first digit.
        case start
        /// After a digit.
        case digits
        /// After the blanks that may stand between the size and an extension.
        case blanks
        /// After a semicolon.
        case extensions
        /// After CR: only LF may follow.
        case lineEnd
    }

    private let limit: Int
    private var part = Part.start
    private var size: Int64 = 0
    private var otherBytes = 0

    /// A reader that allows `limit` bytes in the line besides the significant digits of the size.
    init(limit: Int) {
        self.limit = limit
    }

    /// The size once its line is complete; nil when more input is needed. Then the reader starts over.
    mutating func next(_ input: Span<UInt8>, from offset: inout Int) throws(ParseError) -> Int64? {
        while offset < input.count {
            let byte = input[offset]
            offset += 1
            if byte == .lineFeed, part == .lineEnd {
                let result = size
                self = ChunkSizeReader(limit: limit)
                return result
            }
            try take(byte)
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) throws(ParseError) {
        switch part {
        case .start, .digits:
            if let digit = byte.hexadecimalValue { return try take(digit: digit) }
            // At least one digit; no sign, no "0x", no blank before it.
            guard part == .digits else { throw .invalidChunkSize }
            try takeAfterSize(byte)
        case .blanks:
            try takeAfterSize(byte)
        case .extensions:
            if byte == .carriageReturn {
                part = .lineEnd
            } else {
                guard byte.isFieldValueByte else { throw .invalidChunkExtension }
                try countOtherByte()
            }
        case .lineEnd:
            // RFC 9112 §7.1.1 and §2.2: a CR alone has been used to hide what follows.
            throw .invalidChunkExtension
        }
    }

    private mutating func take(digit: Int) throws(ParseError) {
        part = .digits
        // Leading zeros do not change the size, so an endless row of them must reach a limit.
        if size == 0 { try countOtherByte() }
        guard size <= Int64.max >> 4 else { throw .chunkTooLarge }
        size = size << 4 | Int64(digit)
    }

    private mutating func takeAfterSize(_ byte: UInt8) throws(ParseError) {
        switch byte {
        case .carriageReturn: part = .lineEnd
        case .semicolon: part = .extensions
        case .space, .tab: part = .blanks
        default: throw .invalidChunkSize
        }
        if part != .lineEnd { try countOtherByte() }
    }

    private mutating func countOtherByte() throws(ParseError) {
        // The first digit of a size counts too, be it zero or not: hence one more.
        guard otherBytes <= limit else { throw .chunkExtensionTooLarge }
        otherBytes += 1
    }
}

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
