/// Ways to hand bytes over that a parser must treat alike.
enum Pieces {
    /// Byte by byte, and in pieces of sizes that the bytes themselves decide: what is found is found again.
    static func ways(of bytes: [UInt8]) -> [[[UInt8]]] {
        [bytes.map { [$0] }, random(of: bytes)]
    }

    /// In pieces of random size, empty ones among them.
    static func random(of bytes: [UInt8]) -> [[UInt8]] {
        var generator = Generator(seededBy: bytes)
        let largest = [3, 17, 200, 5000].randomElement(using: &generator) ?? 17
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...largest, using: &generator))
            rest = rest.dropFirst(piece.count)
            pieces.append(Array(piece))
        }
        return pieces
    }
}

/// Random numbers that the same bytes always give.
struct Generator: RandomNumberGenerator {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    init(seededBy bytes: some Sequence<UInt8>) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x0100_0000_01b3 }
    }

    mutating func next() -> UInt64 {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
