/// Random numbers that are the same in every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        // SplitMix64: every seed gives a good sequence, also zero.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// The bytes with a few of them changed, left out, doubled or replaced by what grammars trip over.
    mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        let awkward = Array("\r\n\t \0:;,=\"\\-/*'%0Ff".utf8) + [0x7F, 0x80, 0xC3, 0xFF]
        var result = bytes
        for _ in 0...Int.random(in: 0..<4, using: &self) where !result.isEmpty {
            let place = Int.random(in: 0..<result.count, using: &self)
            let byte = awkward.randomElement(using: &self) ?? 0
            switch Int.random(in: 0..<5, using: &self) {
            case 0: result[place] = byte
            case 1: result.insert(byte, at: place)
            case 2: result.remove(at: place)
            case 3: result.insert(contentsOf: result[place...].prefix(8), at: place)
            default: result.removeSubrange(place..<min(result.count, place + 5))
            }
        }
        return result
    }

    /// The bytes in pieces of random size, empty ones among them.
    mutating func pieces(of bytes: [UInt8]) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...7, using: &self))
            rest = rest.dropFirst(piece.count)
            pieces.append(Array(piece))
        }
        return pieces
    }
}
