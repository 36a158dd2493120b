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
        /// The bytes in the window must be delivered first.
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

    /// Begins a new stream. All bytes in the window have been delivered.
    mutating func reset() {
        window.reset()
        state = .blockHead
        isLastBlock = false
        buffer = BitBuffer()
    }

    /// Continues with another stream after one that has ended. It may refer to earlier bytes.
    mutating func continueAfterEnd() {
        guard case .finished = state else { return }
        state = .blockHead
    }

    /// Whether all blocks that began have ended, and no bit of another has been read.
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

    /// Decodes one symbol with its extra bits, near the end of the input or of the window. nil: continue.
    private mutating func decodeOne(_ input: RawSpan, _ position: inout Int) throws(DecodeError) -> Stop? {
        guard window.room >= InflateWindow.longestMatch else { return .windowFull }
        // Missing bits count as zeros: the code found is the right one if it is no longer than the bits present.
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

    /// Decodes symbols as long as neither input nor room can run out. True: the block has ended.
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

/// Reads the codes of a block with dynamic codes (RFC 1951 §3.2.7).
struct DynamicCodeHeader: Sendable {
    /// The order in which the lengths of the code length codes come.
    private static let order: [UInt8] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private var literalCount = 0
    private var distanceCount = 0
    private var codeCount = 0
    /// How many lengths have been read.
    private var position = 0
    /// First of the code length codes, then of the literals and distances in a row.
    private var lengths: [UInt8] = []
    private var codes = HuffmanTable(rootBits: 7)

    /// Takes the three counts: 14 bits, which the buffer has.
    mutating func takeCounts(_ buffer: inout BitBuffer) throws(DecodeError) {
        literalCount = buffer.take(5) + 257
        distanceCount = buffer.take(5) + 1
        codeCount = buffer.take(4) + 4
        guard literalCount <= 286, distanceCount <= 30 else { throw .invalidCodeLengths }
        position = 0
        lengths = [UInt8](repeating: 0, count: 19)
    }

    /// Takes the code of the code lengths. False when more input is needed.
    mutating func takeCodeCodes(
        _ buffer: inout BitBuffer, _ input: RawSpan, _ place: inout Int
    ) throws(DecodeError) -> Bool {
        while position < codeCount {
            guard buffer.fill(to: 3, from: input, at: &place) else { return false }
            lengths[Int(DynamicCodeHeader.order[position])] = UInt8(buffer.take(3))
            position += 1
        }
        let codeLengths = lengths
        try codes.build(codeLengths.span, meanings: HuffmanEntry.codeLengths)
        position = 0
        lengths = [UInt8](repeating: 0, count: literalCount + distanceCount)
        return true
    }

    /// Takes the lengths of both codes. False when more input is needed.
    mutating func takeCodeLengths(
        _ buffer: inout BitBuffer, _ input: RawSpan, _ place: inout Int
    ) throws(DecodeError) -> Bool {
        while position < lengths.count {
            // A code of up to seven bits and up to seven more.
            _ = buffer.fill(to: 14, from: input, at: &place)
            let entry = codes.find(buffer.bits).entry
            guard entry.bitCount <= buffer.count else { return false }
            guard entry.isLiteral else { throw .invalidSymbol }
            switch entry.value {
            case 16:
                guard position > 0 else { throw .invalidCodeLengths }
                guard try takeRun(of: lengths[position - 1], from: 3, bits: 2, entry, &buffer) else { return false }
            case 17:
                guard try takeRun(of: 0, from: 3, bits: 3, entry, &buffer) else { return false }
            case 18:
                guard try takeRun(of: 0, from: 11, bits: 7, entry, &buffer) else { return false }
            default:
                buffer.drop(entry.bitCount)
                lengths[position] = UInt8(truncatingIfNeeded: entry.value)
                position += 1
            }
        }
        return true
    }

    private mutating func takeRun(
        of length: UInt8, from base: Int, bits: Int, _ entry: HuffmanEntry, _ buffer: inout BitBuffer
    ) throws(DecodeError) -> Bool {
        guard entry.bitCount + bits <= buffer.count else { return false }
        buffer.drop(entry.bitCount)
        let end = position + base + buffer.take(bits)
        guard end <= lengths.count else { throw .invalidCodeLengths }
        while position < end {
            lengths[position] = length
            position += 1
        }
        return true
    }

    /// Makes the tables of the block.
    func build(_ literals: inout HuffmanTable, _ distances: inout HuffmanTable) throws(DecodeError) {
        // Without an end symbol the block could not end.
        guard lengths[256] > 0 else { throw .invalidCodeLengths }
        let all = lengths.span
        try literals.build(all.extracting(first: literalCount), meanings: HuffmanEntry.literals)
        try distances.build(all.extracting(droppingFirst: literalCount), meanings: HuffmanEntry.distances)
    }
}

/// The bits of a deflate stream that were read and not used yet, the next bit lowest.
struct BitBuffer: Sendable {
    /// The bits above the `count` lowest are zero.
    private(set) var bits: UInt64 = 0
    private(set) var count = 0

    init() {}

    /// A buffer of the `count` lowest of `bits`; the bits above are dropped. `count` is less than 64.
    init(bits: UInt64, count: Int) {
        self.bits = bits & (1 &<< UInt64(count) &- 1)
        self.count = count
    }

    /// Reads bytes until there are `wanted` bits, 56 at most. False when the input ends before that.
    mutating func fill(to wanted: Int, from input: RawSpan, at position: inout Int) -> Bool {
        let bytes = Span<UInt8>(_bytes: input)
        while count < wanted {
            guard position < bytes.count else { return false }
            bits |= UInt64(bytes[position]) &<< UInt64(count)
            count &+= 8
            position &+= 1
        }
        return true
    }

    /// Drops bits, which the buffer has.
    mutating func drop(_ number: Int) {
        bits &>>= UInt64(number)
        count &-= number
    }

    /// Takes bits, which the buffer has, as a number.
    mutating func take(_ number: Int) -> Int {
        let value = Int(bits & (1 &<< UInt64(number) &- 1))
        drop(number)
        return value
    }

    /// Drops the rest of the current byte.
    mutating func alignToByte() {
        drop(count & 7)
    }

    /// Gives whole bytes back to the input they came from.
    mutating func giveBack(to position: inout Int) {
        let whole = min(count &>> 3, position)
        position &-= whole
        self = BitBuffer(bits: bits, count: count &- whole &* 8)
    }
}
