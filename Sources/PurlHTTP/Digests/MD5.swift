/// MD5 (RFC 1321) of bytes that come in pieces of any size. Not collision-resistant; old servers authenticate
/// with it.
package struct MD5: Sendable {
    private var blocks = BlockDigest<MD5State>()

    package init() {}

    /// Takes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) { blocks.update(bytes) }

    /// The digest, 16 bytes, of all bytes taken. Then a new message begins.
    package mutating func finalize() -> [UInt8] { blocks.finalize() }
}

/// The four words that MD5 carries from block to block.
private struct MD5State: BlockDigestState {
    static let endsBigEndian = false

    private var a: UInt32 = 0x6745_2301
    private var b: UInt32 = 0xEFCD_AB89
    private var c: UInt32 = 0x98BA_DCFE
    private var d: UInt32 = 0x1032_5476

    var digest: [UInt8] {
        [a, b, c, d].flatMap { word in
            [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    mutating func compress(_ bytes: RawSpan) {
        for start in stride(from: 0, to: bytes.byteCount, by: 64) { compress(bytes, at: start) }
    }

    /// RFC 1321 §3.4 for one block.
    private mutating func compress(_ bytes: RawSpan, at start: Int) {
        var words = InlineArray<16, UInt32>(repeating: 0)
        for index in 0..<8 {
            let pair = bytes.word(at: start + 8 * index)
            words[2 * index] = UInt32(truncatingIfNeeded: pair)
            words[2 * index + 1] = UInt32(truncatingIfNeeded: pair >> 32)
        }
        var (a, b, c, d) = (a, b, c, d)
        for step in 0..<64 {
            let mixed: UInt32
            let word: Int
            switch step / 16 {
            case 0: (mixed, word) = (d ^ (b & (c ^ d)), step)
            case 1: (mixed, word) = (c ^ (d & (b ^ c)), (5 * step + 1) % 16)
            case 2: (mixed, word) = (b ^ c ^ d, (3 * step + 5) % 16)
            default: (mixed, word) = (c ^ (b | ~d), (7 * step) % 16)
            }
            let sum = a &+ mixed &+ MD5State.constants[step] &+ words[word]
            let rotation = MD5State.rotations[step / 16 * 4 + step % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum &<< rotation | sum &>> (32 &- rotation)))
        }
        self.a &+= a
        self.b &+= b
        self.c &+= c
        self.d &+= d
    }

    private static let rotations: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

    /// The first 32 bits after the point of the sine of 1 to 64.
    private static let constants: [UInt32] = [
        0xD76A_A478, 0xE8C7_B756, 0x2420_70DB, 0xC1BD_CEEE, 0xF57C_0FAF, 0x4787_C62A, 0xA830_4613, 0xFD46_9501,
        0x6980_98D8, 0x8B44_F7AF, 0xFFFF_5BB1, 0x895C_D7BE, 0x6B90_1122, 0xFD98_7193, 0xA679_438E, 0x49B4_0821,
        0xF61E_2562, 0xC040_B340, 0x265E_5A51, 0xE9B6_C7AA, 0xD62F_105D, 0x0244_1453, 0xD8A1_E681, 0xE7D3_FBC8,
        0x21E1_CDE6, 0xC337_07D6, 0xF4D5_0D87, 0x455A_14ED, 0xA9E3_E905, 0xFCEF_A3F8, 0x676F_02D9, 0x8D2A_4C8A,
        0xFFFA_3942, 0x8771_F681, 0x6D9D_6122, 0xFDE5_380C, 0xA4BE_EA44, 0x4BDE_CFA9, 0xF6BB_4B60, 0xBEBF_BC70,
        0x289B_7EC6, 0xEAA1_27FA, 0xD4EF_3085, 0x0488_1D05, 0xD9D4_D039, 0xE6DB_99E5, 0x1FA2_7CF8, 0xC4AC_5665,
        0xF429_2244, 0x432A_FF97, 0xAB94_23A7, 0xFC93_A039, 0x655B_59C3, 0x8F0C_CC92, 0xFFEF_F47D, 0x8584_5DD1,
        0x6FA8_7E4F, 0xFE2C_E6E0, 0xA301_4314, 0x4E08_11A1, 0xF753_7E82, 0xBD3A_F235, 0x2AD7_D2BB, 0xEB86_D391,
    ]
}
