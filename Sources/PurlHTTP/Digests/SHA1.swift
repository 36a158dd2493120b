/// SHA-1 (FIPS 180-4) of bytes that come in pieces of any size. Not collision-resistant; WebSocket handshakes use it
/// to match a response to its request (RFC 6455 §1.3).
package struct SHA1: Sendable {
    private var blocks = BlockDigest<SHA1State>()

    package init() {}

    /// Takes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) { blocks.update(bytes) }

    /// The digest, 20 bytes, of all bytes taken. Then a new message begins.
    package mutating func finalize() -> [UInt8] { blocks.finalize() }
}

/// The five words that SHA-1 carries from block to block.
private struct SHA1State: BlockDigestState {
    static let endsBigEndian = true

    private var a: UInt32 = 0x6745_2301
    private var b: UInt32 = 0xEFCD_AB89
    private var c: UInt32 = 0x98BA_DCFE
    private var d: UInt32 = 0x1032_5476
    private var e: UInt32 = 0xC3D2_E1F0

    var digest: [UInt8] {
        [a, b, c, d, e].flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    mutating func compress(_ bytes: RawSpan) {
        for start in stride(from: 0, to: bytes.byteCount, by: 64) { compress(bytes, at: start) }
    }

    /// FIPS 180-4 §6.1.2 for one block.
    private mutating func compress(_ bytes: RawSpan, at start: Int) {
        var words = InlineArray<80, UInt32>(repeating: 0)
        words.begin(withBigEndianBlockAt: start, of: bytes)
        for index in 16..<80 {
            let sum = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words[index] = SHA1State.rotatedLeft(sum, 1)
        }
        var (a, b, c, d, e) = (a, b, c, d, e)
        for step in 0..<80 {
            let mixed: UInt32
            let constant: UInt32
            switch step / 20 {
            case 0: (mixed, constant) = (d ^ (b & (c ^ d)), 0x5A82_7999)
            case 1: (mixed, constant) = (b ^ c ^ d, 0x6ED9_EBA1)
            case 2: (mixed, constant) = ((b & c) | (d & (b | c)), 0x8F1B_BCDC)
            default: (mixed, constant) = (b ^ c ^ d, 0xCA62_C1D6)
            }
            let next = SHA1State.rotatedLeft(a, 5) &+ mixed &+ e &+ constant &+ words[step]
            (a, b, c, d, e) = (next, a, SHA1State.rotatedLeft(b, 30), c, d)
        }
        self.a &+= a
        self.b &+= b
        self.c &+= c
        self.d &+= d
        self.e &+= e
    }

    private static func rotatedLeft(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word &<< count | word &>> (32 &- count)
    }
}
