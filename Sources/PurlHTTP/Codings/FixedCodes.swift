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
