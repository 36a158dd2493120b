/// Undoes deflate compression (RFC 1951) of input that comes in pieces. Decoded bytes lie in `window`.
///
/// Theory of operation: every step needs a few bits, 48 at most. A step is done when they are all there and not at all
/// otherwise, so that no state lies inside a step. While there is plenty of input and room, symbols take the fast path
/// of `SymbolLoop`, which checks both once for several symbols.
/// ```
/// blockHead    stored                → storedHead
///              fixed codes           → symbols
///              dynamic codes         → codeCounts
/// storedHead   length and complement → stored
/// stored       that many bytes       → after the block
/// codeCounts   three numbers         → codeCodes
/// codeCodes    up to 19 lengths      → codeLengths
/// codeLengths  up to 316 lengths     → symbols
/// symbols      until the end symbol  → after the block
/// after the block: blockHead, or finished when it was the last
/// ```
struct Inflater: Sendable {
    /// Why decoding stopped.
    enum Stop {
        /// All input is taken.
        case needsInput
        /// What lies in the window must be handed on first.
        case windowFull
        /// The stream is complete; input after it was not taken.
        case finished
    }

    private enum State {
        case blockHead
        case storedHead
        case stored(remaining: Int)
        case codeCounts
        case codeCodes
        case codeLengths
        case symbols
        case finished
    }

    /// The decoded bytes.
    var window = InflateWindow()
    private var state = State.blockHead
    private var isLastBlock = false
    private var buffer = BitBuffer()
    private var header = DynamicCodeHeader()
    private var literals = HuffmanTable(rootBits: 10)
    private var distances = HuffmanTable(rootBits: 8)

    /// Begins a new stream. Everything in the window has been handed on.
    mutating func reset() {
        window.reset()
        state = .blockHead
        isLastBlock = false
        buffer = BitBuffer()
    }

    /// Goes on with another stream after one that has ended. It may refer to what came before.
    mutating func continueAfterEnd() {
        guard case .finished = state else { return }
        state = .blockHead
    }

    /// All blocks that were begun have ended, and no bit of another has been read.
    var isBetweenBlocks: Bool {
        guard case .blockHead = state else { return false }
        return buffer.count == 0
    }

    /// Takes bytes from `position` on, and moves it past what it took.
    mutating func inflate(_ input: RawSpan, from position: inout Int) throws(DecodeError) -> Stop {
        if !window.hasUndelivered { window.slide() }
        let stop = try run(input, &position)
        switch stop {
        case .needsInput: break
        // An earlier piece left no more bits than the first step of this one took: whole bytes are bytes of this piece.
        case .windowFull: buffer.giveBack(to: &position)
        case .finished:
            buffer.alignToByte()
            buffer.giveBack(to: &position)
        }
        return stop
    }

    private mutating func run(_ input: RawSpan, _ position: inout Int) throws(DecodeError) -> Stop {
        while true {
            switch state {
            case .blockHead:
                guard buffer.fill(to: 3, from: input, at: &position) else { return .needsInput }
                try takeBlockHead()
            case .storedHead:
                buffer.alignToByte()
                guard buffer.fill(to: 32, from: input, at: &position) else { return .needsInput }
                let length = buffer.take(16)
                guard buffer.take(16) == length ^ 0xFFFF else { throw .storedLengthMismatch }
                buffer.giveBack(to: &position)
                state = .stored(remaining: length)
            case .stored(let remaining):
                if let stop = takeStored(remaining, input, &position) { return stop }
            case .codeCounts:
                guard buffer.fill(to: 14, from: input, at: &position) else { return .needsInput }
                try header.takeCounts(&buffer)
                state = .codeCodes
            case .codeCodes:
                guard try header.takeCodeCodes(&buffer, input, &position) else { return .needsInput }
                state = .codeLengths
            case .codeLengths:
                guard try header.takeCodeLengths(&buffer, input, &position) else { return .needsInput }
                if literals.rootBits != 10 { literals = HuffmanTable(rootBits: 10) }
                if distances.rootBits != 8 { distances = HuffmanTable(rootBits: 8) }
                try header.build(&literals, &distances)
                state = .symbols
            case .symbols:
                if try decodeMany(input, &position) {
                    endBlock()
                } else if let stop = try decodeOne(input, &position) {
                    return stop
                }
            case .finished:
                return .finished
            }
        }
    }

    private mutating func takeBlockHead() throws(DecodeError) {
        isLastBlock = buffer.take(1) == 1
        switch buffer.take(2) {
        case 0: state = .storedHead
        case 1:
            literals = .fixedLiterals
            distances = .fixedDistances
            state = .symbols
        case 2: state = .codeCounts
        default: throw .invalidBlockType
        }
    }

    private mutating func endBlock() {
        state = isLastBlock ? .finished : .blockHead
    }

    private mutating func takeStored(_ remaining: Int, _ input: RawSpan, _ position: inout Int) -> Stop? {
        guard remaining > 0 else {
            endBlock()
            return nil
        }
        let count = min(remaining, input.byteCount - position, window.room)
        guard count > 0 else { return window.room == 0 ? .windowFull : .needsInput }
        let source = Span<UInt8>(_bytes: input)
        window.append(source.extracting(position..<(position + count)))
        position += count
        state = .stored(remaining: remaining - count)
        return nil
    }

    /// One symbol with all that belongs to it, near the end of the input or of the window. nil: go on.
    private mutating func decodeOne(_ input: RawSpan, _ position: inout Int) throws(DecodeError) -> Stop? {
        guard window.room >= InflateWindow.longestMatch else { return .windowFull }
        // What is not there counts as zeros: the code found is the right one if it is no longer than what is there.
        _ = buffer.fill(to: 48, from: input, at: &position)
        let (entry, skipped) = literals.find(buffer.bits)
        let used = skipped + entry.bitCount
        guard used <= buffer.count else { return .needsInput }
        if entry.isLiteral {
            buffer.drop(used)
            window.append(UInt8(truncatingIfNeeded: entry.value))
        } else if entry.isException {
            guard entry.isEnd else { throw .invalidSymbol }
            buffer.drop(used)
            endBlock()
        } else {
            let length = entry.number(in: buffer.bits &>> UInt64(skipped))
            let rest = buffer.bits &>> UInt64(used)
            let (distanceEntry, distanceSkipped) = distances.find(rest)
            guard used + distanceSkipped + distanceEntry.bitCount <= buffer.count else { return .needsInput }
            guard !distanceEntry.isException else { throw .invalidSymbol }
            let distance = distanceEntry.number(in: rest &>> UInt64(distanceSkipped))
            guard distance <= window.end else { throw .distanceTooFar }
            buffer.drop(used + distanceSkipped + distanceEntry.bitCount)
            window.repeatMatch(distance: distance, length: length)
        }
        return nil
    }

    /// Symbols as long as neither input nor room can run out. True: the block has ended.
    private mutating func decodeMany(_ input: RawSpan, _ position: inout Int) throws(DecodeError) -> Bool {
        guard SymbolLoop.hasRoom(input, position, window.end) else { return false }
        var loop = SymbolLoop(buffer, position: position, place: window.end)
        let isEnd = try loop.run(input, literals, distances, &window.bytes)
        buffer = loop.buffer
        position = loop.position
        window.end = loop.place
        return isEnd
    }
}
