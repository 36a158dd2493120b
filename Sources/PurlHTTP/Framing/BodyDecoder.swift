/// Finds the body of a message in input that comes in pieces. It copies nothing: events name places in the input.
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

    /// Whether `.end` has been given.
    package var isComplete: Bool {
        if case .ended = state { true } else { false }
    }

    /// How many bytes the body still has, where that is all there is to know of it.
    package var plainRemainder: Int64? {
        if case .length(let remaining) = state, remaining > 0 { remaining } else { nil }
    }

    /// Some bytes of the plain remainder have gone another way.
    package mutating func skip(_ count: Int) {
        guard let remaining = plainRemainder, count > 0 else { return }
        state = .length(max(0, remaining - Int64(count)))
    }

    /// Takes bytes from `offset` on and moves `offset` past what it took. nil: needs more input, all of this one is
    /// taken. A body of no bytes gives `.end` at once, on empty input too. After `.end`: nil, takes nothing.
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

    /// The peer closed. That ends a body that runs until then, and one that is complete; every other throws
    /// `.prematureEnd`.
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
