/// SHA-256 (FIPS 180-4) of bytes that come in pieces of any size.
package struct SHA256: Sendable {
    private var blocks = BlockDigest<SHA256State>()

    package init() {}

    /// Takes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) { blocks.update(bytes) }

    /// The digest, 32 bytes, of all bytes taken. Then a new message begins.
    package mutating func finalize() -> [UInt8] { blocks.finalize() }

    /// The digest of the bytes, in hexadecimal.
    package static func hexadecimal(of bytes: RawSpan) -> String {
        var digest = SHA256()
        digest.update(bytes)
        return hexadecimal(digest.finalize())
    }

    /// Bytes in hexadecimal, two lower-case digits each.
    package static func hexadecimal(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(digest.count * 2)
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The eight words that SHA-256 carries from block to block, and the function that mixes a block into them.
private struct SHA256State: BlockDigestState {
    static let endsBigEndian = true

    private var h0: UInt32 = 0x6A09_E667
    private var h1: UInt32 = 0xBB67_AE85
    private var h2: UInt32 = 0x3C6E_F372
    private var h3: UInt32 = 0xA54F_F53A
    private var h4: UInt32 = 0x510E_527F
    private var h5: UInt32 = 0x9B05_688C
    private var h6: UInt32 = 0x1F83_D9AB
    private var h7: UInt32 = 0x5BE0_CD19

    var digest: [UInt8] {
        [h0, h1, h2, h3, h4, h5, h6, h7].flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    mutating func compress(_ bytes: RawSpan) {
        for start in stride(from: 0, to: bytes.byteCount, by: 64) { compress(bytes, at: start) }
    }

    /// FIPS 180-4 §6.2.2 for one block.
    private mutating func compress(_ bytes: RawSpan, at start: Int) {
        var words = InlineArray<64, UInt32>(repeating: 0)
        words.begin(withBigEndianBlockAt: start, of: bytes)
        for index in 16..<64 {
            let (before15, before2) = (words[index - 15], words[index - 2])
            let sigma0 = before15.rotatedRight(7) ^ before15.rotatedRight(18) ^ before15 &>> 3
            let sigma1 = before2.rotatedRight(17) ^ before2.rotatedRight(19) ^ before2 &>> 10
            words[index] = words[index - 16] &+ sigma0 &+ words[index - 7] &+ sigma1
        }
        var (a, b, c, d, e, f, g, h) = (h0, h1, h2, h3, h4, h5, h6, h7)
        // Eight rounds at a time: then each letter is where it began, and no word is moved.
        for step in stride(from: 0, to: 64, by: 8) {
            round(a, b, c, &d, e, f, g, &h, SHA256State.constants[step] &+ words[step])
            round(h, a, b, &c, d, e, f, &g, SHA256State.constants[step + 1] &+ words[step + 1])
            round(g, h, a, &b, c, d, e, &f, SHA256State.constants[step + 2] &+ words[step + 2])
            round(f, g, h, &a, b, c, d, &e, SHA256State.constants[step + 3] &+ words[step + 3])
            round(e, f, g, &h, a, b, c, &d, SHA256State.constants[step + 4] &+ words[step + 4])
            round(d, e, f, &g, h, a, b, &c, SHA256State.constants[step + 5] &+ words[step + 5])
            round(c, d, e, &f, g, h, a, &b, SHA256State.constants[step + 6] &+ words[step + 6])
            round(b, c, d, &e, f, g, h, &a, SHA256State.constants[step + 7] &+ words[step + 7])
        }
        h0 &+= a
        h1 &+= b
        h2 &+= c
        h3 &+= d
        h4 &+= e
        h5 &+= f
        h6 &+= g
        h7 &+= h
    }

    /// The first 32 bits after the point of the cube roots of the first 64 primes.
    private static let constants: InlineArray<64, UInt32> = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
        0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
        0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
        0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
        0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
        0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]
}

/// One round. `k` is the round's constant and word together.
@inline(always)
private func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32,
    _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: inout UInt32, _ k: UInt32
) {
    let sum1 = e.rotatedRight(6) ^ e.rotatedRight(11) ^ e.rotatedRight(25)
    h = h &+ sum1 &+ (g ^ (e & (f ^ g))) &+ k
    d = d &+ h
    let sum0 = a.rotatedRight(2) ^ a.rotatedRight(13) ^ a.rotatedRight(22)
    h = h &+ sum0 &+ ((a & b) | (c & (a | b)))
}

extension UInt32 {
    @inline(always)
    fileprivate func rotatedRight(_ count: UInt32) -> UInt32 { self &>> count | self &<< (32 &- count) }
}
