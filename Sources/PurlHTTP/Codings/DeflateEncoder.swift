/// Compresses bytes that come in pieces (RFC 1951): repetitions within the window, fixed codes.
///
/// Made for messages: the bytes given to `encode` are written at once, as far as whole bytes go, and `flush` makes the
/// rest readable. Later messages may refer to earlier ones. Bytes that cannot be compressed grow by an eighth at most.
package struct DeflateEncoder: Sendable {
    private var matcher: DeflateMatcher
    private var bits: UInt64 = 0
    private var bitCount = 0
    private var isBlockOpen = false

    /// An encoder that refers to no more than the last 2 to the power of `windowBits` bytes; 8 to 15, others count as
    /// the nearest of these.
    package init(windowBits: Int = 15) {
        matcher = DeflateMatcher(reach: 1 << min(max(windowBits, 8), 15))
    }

    /// Appends the compressed form of the bytes. Some bits may be held back until `flush` or `finish`.
    package mutating func encode(_ input: RawSpan, into output: inout [UInt8]) {
        guard !input.isEmpty else { return }
        if !isBlockOpen {
            // Not the last block, fixed codes.
            put(0b010, 3, to: &output)
            isBlockOpen = true
        }
        var rest = input
        while !rest.isEmpty {
            let piece = rest.extracting(first: min(rest.byteCount, DeflateMatcher.largestPiece))
            rest = rest.extracting(droppingFirst: piece.byteCount)
            matcher.add(piece)
            while let symbol = matcher.next() {
                switch symbol {
                case .literal(let byte):
                    let code = FixedCodes.literals[Int(byte)]
                    put(code.bits, code.count, to: &output)
                case .match(let length, let distance):
                    let code = FixedCodes.lengths[length]
                    put(code.bits, code.count, to: &output)
                    let place = FixedCodes.distance(distance)
                    put(place.bits, place.count, to: &output)
                }
            }
        }
    }

    /// Ends the block and writes an empty stored one, so that all bytes given so far can be decoded. The last four
    /// bytes are `00 00 FF FF`, which WebSocket messages leave out (RFC 7692 §7.2.1).
    package mutating func flush(into output: inout [UInt8]) {
        endBlock(&output)
        put(0, 3, to: &output)
        alignToByte(&output)
        output.append(contentsOf: [0, 0, 0xFF, 0xFF])
    }

    /// Ends the stream. After that the encoder begins a new one.
    package mutating func finish(into output: inout [UInt8]) {
        endBlock(&output)
        // The last block: fixed codes, and empty.
        put(0b011, 3, to: &output)
        put(0, 7, to: &output)
        alignToByte(&output)
        reset()
    }

    /// Forgets all earlier bytes: later ones do not refer to them.
    package mutating func reset() {
        matcher.reset()
        (bits, bitCount, isBlockOpen) = (0, 0, false)
    }

    private mutating func endBlock(_ output: inout [UInt8]) {
        guard isBlockOpen else { return }
        // Symbol 256: seven zeros.
        put(0, 7, to: &output)
        isBlockOpen = false
    }

    @inline(always)
    private mutating func put(_ value: UInt32, _ count: Int, to output: inout [UInt8]) {
        bits |= UInt64(value) &<< UInt64(bitCount)
        bitCount &+= count
        while bitCount >= 8 {
            output.append(UInt8(truncatingIfNeeded: bits))
            bits &>>= 8
            bitCount &-= 8
        }
    }

    private mutating func alignToByte(_ output: inout [UInt8]) {
        if bitCount > 0 { put(0, 8 - bitCount, to: &output) }
    }
}

/// The fixed codes of deflate (RFC 1951 §3.2.6) as they are written: the first bit lowest.
enum FixedCodes {
    /// The bits of a code and of what follows it.
    struct Code: Sendable {
        let bits: UInt32
        let count: Int
    }

    /// For each byte.
    static let literals: [Code] = (0..<256).map { symbol($0) }

    /// For each length from 3 to 258 with its extra bits; the first three are never used.
    static let lengths: [Code] = (0...258).map { length in
        if length == 258 { return symbol(285) }
        let rest = max(0, length - 3)
        guard rest >= 8 else { return symbol(257 + rest) }
        // Groups of four symbols, each with one extra bit more than the last.
        let extraBits = highestBit(of: rest) - 2
        let code = symbol(257 + 4 * (extraBits + 1) + (rest >> extraBits & 3))
        return Code(
            bits: code.bits | UInt32(rest & (1 << extraBits - 1)) << UInt32(code.count), count: code.count + extraBits)
    }

    /// For a distance from 1 to 32,768 with its extra bits.
    static func distance(_ distance: Int) -> Code {
        let rest = distance &- 1
        guard rest >= 4 else { return Code(bits: distances[rest], count: 5) }
        // Groups of two symbols, each with one extra bit more than the last.
        let extraBits = highestBit(of: rest) &- 1
        let bits = distances[2 &* extraBits &+ (rest &>> extraBits)]
        return Code(bits: bits | UInt32(rest & (1 &<< extraBits &- 1)) &<< 5, count: 5 &+ extraBits)
    }

    private static let distances: [UInt32] = (0..<30).map { reversed($0, 5) }

    private static func highestBit(of number: Int) -> Int {
        Int.bitWidth - 1 - number.leadingZeroBitCount
    }

    private static func symbol(_ symbol: Int) -> Code {
        switch symbol {
        case ..<144: Code(bits: reversed(0x30 + symbol, 8), count: 8)
        case ..<256: Code(bits: reversed(0x190 + symbol - 144, 9), count: 9)
        case ..<280: Code(bits: reversed(symbol - 256, 7), count: 7)
        default: Code(bits: reversed(0xC0 + symbol - 280, 8), count: 8)
        }
    }

    private static func reversed(_ code: Int, _ count: Int) -> UInt32 {
        (0..<count).reduce(0) { $0 << 1 | UInt32(code >> $1 & 1) }
    }
}
