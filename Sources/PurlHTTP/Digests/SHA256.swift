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
struct SHA256State: BlockDigestState {
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
        let blocks = Span<SHA256Block>(_bytes: bytes)
        var index = 0
        while index < blocks.count {
            compress(blocks[index])
            index &+= 1
        }
    }

    // FIPS 180-4 §6.2.2. The 64 rounds are written out, with the words as plain variables that change their parts
    // from line to line: arrays and loops would cost four times as much in a build without optimisation.
    private mutating func compress(_ block: SHA256Block) {
        var w0 = block.word0.value
        var w1 = block.word1.value
        var w2 = block.word2.value
        var w3 = block.word3.value
        var w4 = block.word4.value
        var w5 = block.word5.value
        var w6 = block.word6.value
        var w7 = block.word7.value
        var w8 = block.word8.value
        var w9 = block.word9.value
        var w10 = block.word10.value
        var w11 = block.word11.value
        var w12 = block.word12.value
        var w13 = block.word13.value
        var w14 = block.word14.value
        var w15 = block.word15.value

        var a = h0
        var b = h1
        var c = h2
        var d = h3
        var e = h4
        var f = h5
        var g = h6
        var h = h7

        round(a, b, c, &d, e, f, g, &h, 0x428A_2F98 &+ w0)
        round(h, a, b, &c, d, e, f, &g, 0x7137_4491 &+ w1)
        round(g, h, a, &b, c, d, e, &f, 0xB5C0_FBCF &+ w2)
        round(f, g, h, &a, b, c, d, &e, 0xE9B5_DBA5 &+ w3)
        round(e, f, g, &h, a, b, c, &d, 0x3956_C25B &+ w4)
        round(d, e, f, &g, h, a, b, &c, 0x59F1_11F1 &+ w5)
        round(c, d, e, &f, g, h, a, &b, 0x923F_82A4 &+ w6)
        round(b, c, d, &e, f, g, h, &a, 0xAB1C_5ED5 &+ w7)
        round(a, b, c, &d, e, f, g, &h, 0xD807_AA98 &+ w8)
        round(h, a, b, &c, d, e, f, &g, 0x1283_5B01 &+ w9)
        round(g, h, a, &b, c, d, e, &f, 0x2431_85BE &+ w10)
        round(f, g, h, &a, b, c, d, &e, 0x550C_7DC3 &+ w11)
        round(e, f, g, &h, a, b, c, &d, 0x72BE_5D74 &+ w12)
        round(d, e, f, &g, h, a, b, &c, 0x80DE_B1FE &+ w13)
        round(c, d, e, &f, g, h, a, &b, 0x9BDC_06A7 &+ w14)
        round(b, c, d, &e, f, g, h, &a, 0xC19B_F174 &+ w15)

        w0 = schedule(w0, w1, w9, w14)
        round(a, b, c, &d, e, f, g, &h, 0xE49B_69C1 &+ w0)
        w1 = schedule(w1, w2, w10, w15)
        round(h, a, b, &c, d, e, f, &g, 0xEFBE_4786 &+ w1)
        w2 = schedule(w2, w3, w11, w0)
        round(g, h, a, &b, c, d, e, &f, 0x0FC1_9DC6 &+ w2)
        w3 = schedule(w3, w4, w12, w1)
        round(f, g, h, &a, b, c, d, &e, 0x240C_A1CC &+ w3)
        w4 = schedule(w4, w5, w13, w2)
        round(e, f, g, &h, a, b, c, &d, 0x2DE9_2C6F &+ w4)
        w5 = schedule(w5, w6, w14, w3)
        round(d, e, f, &g, h, a, b, &c, 0x4A74_84AA &+ w5)
        w6 = schedule(w6, w7, w15, w4)
        round(c, d, e, &f, g, h, a, &b, 0x5CB0_A9DC &+ w6)
        w7 = schedule(w7, w8, w0, w5)
        round(b, c, d, &e, f, g, h, &a, 0x76F9_88DA &+ w7)
        w8 = schedule(w8, w9, w1, w6)
        round(a, b, c, &d, e, f, g, &h, 0x983E_5152 &+ w8)
        w9 = schedule(w9, w10, w2, w7)
        round(h, a, b, &c, d, e, f, &g, 0xA831_C66D &+ w9)
        w10 = schedule(w10, w11, w3, w8)
        round(g, h, a, &b, c, d, e, &f, 0xB003_27C8 &+ w10)
        w11 = schedule(w11, w12, w4, w9)
        round(f, g, h, &a, b, c, d, &e, 0xBF59_7FC7 &+ w11)
        w12 = schedule(w12, w13, w5, w10)
        round(e, f, g, &h, a, b, c, &d, 0xC6E0_0BF3 &+ w12)
        w13 = schedule(w13, w14, w6, w11)
        round(d, e, f, &g, h, a, b, &c, 0xD5A7_9147 &+ w13)
        w14 = schedule(w14, w15, w7, w12)
        round(c, d, e, &f, g, h, a, &b, 0x06CA_6351 &+ w14)
        w15 = schedule(w15, w0, w8, w13)
        round(b, c, d, &e, f, g, h, &a, 0x1429_2967 &+ w15)

        w0 = schedule(w0, w1, w9, w14)
        round(a, b, c, &d, e, f, g, &h, 0x27B7_0A85 &+ w0)
        w1 = schedule(w1, w2, w10, w15)
        round(h, a, b, &c, d, e, f, &g, 0x2E1B_2138 &+ w1)
        w2 = schedule(w2, w3, w11, w0)
        round(g, h, a, &b, c, d, e, &f, 0x4D2C_6DFC &+ w2)
        w3 = schedule(w3, w4, w12, w1)
        round(f, g, h, &a, b, c, d, &e, 0x5338_0D13 &+ w3)
        w4 = schedule(w4, w5, w13, w2)
        round(e, f, g, &h, a, b, c, &d, 0x650A_7354 &+ w4)
        w5 = schedule(w5, w6, w14, w3)
        round(d, e, f, &g, h, a, b, &c, 0x766A_0ABB &+ w5)
        w6 = schedule(w6, w7, w15, w4)
        round(c, d, e, &f, g, h, a, &b, 0x81C2_C92E &+ w6)
        w7 = schedule(w7, w8, w0, w5)
        round(b, c, d, &e, f, g, h, &a, 0x9272_2C85 &+ w7)
        w8 = schedule(w8, w9, w1, w6)
        round(a, b, c, &d, e, f, g, &h, 0xA2BF_E8A1 &+ w8)
        w9 = schedule(w9, w10, w2, w7)
        round(h, a, b, &c, d, e, f, &g, 0xA81A_664B &+ w9)
        w10 = schedule(w10, w11, w3, w8)
        round(g, h, a, &b, c, d, e, &f, 0xC24B_8B70 &+ w10)
        w11 = schedule(w11, w12, w4, w9)
        round(f, g, h, &a, b, c, d, &e, 0xC76C_51A3 &+ w11)
        w12 = schedule(w12, w13, w5, w10)
        round(e, f, g, &h, a, b, c, &d, 0xD192_E819 &+ w12)
        w13 = schedule(w13, w14, w6, w11)
        round(d, e, f, &g, h, a, b, &c, 0xD699_0624 &+ w13)
        w14 = schedule(w14, w15, w7, w12)
        round(c, d, e, &f, g, h, a, &b, 0xF40E_3585 &+ w14)
        w15 = schedule(w15, w0, w8, w13)
        round(b, c, d, &e, f, g, h, &a, 0x106A_A070 &+ w15)

        w0 = schedule(w0, w1, w9, w14)
        round(a, b, c, &d, e, f, g, &h, 0x19A4_C116 &+ w0)
        w1 = schedule(w1, w2, w10, w15)
        round(h, a, b, &c, d, e, f, &g, 0x1E37_6C08 &+ w1)
        w2 = schedule(w2, w3, w11, w0)
        round(g, h, a, &b, c, d, e, &f, 0x2748_774C &+ w2)
        w3 = schedule(w3, w4, w12, w1)
        round(f, g, h, &a, b, c, d, &e, 0x34B0_BCB5 &+ w3)
        w4 = schedule(w4, w5, w13, w2)
        round(e, f, g, &h, a, b, c, &d, 0x391C_0CB3 &+ w4)
        w5 = schedule(w5, w6, w14, w3)
        round(d, e, f, &g, h, a, b, &c, 0x4ED8_AA4A &+ w5)
        w6 = schedule(w6, w7, w15, w4)
        round(c, d, e, &f, g, h, a, &b, 0x5B9C_CA4F &+ w6)
        w7 = schedule(w7, w8, w0, w5)
        round(b, c, d, &e, f, g, h, &a, 0x682E_6FF3 &+ w7)
        w8 = schedule(w8, w9, w1, w6)
        round(a, b, c, &d, e, f, g, &h, 0x748F_82EE &+ w8)
        w9 = schedule(w9, w10, w2, w7)
        round(h, a, b, &c, d, e, f, &g, 0x78A5_636F &+ w9)
        w10 = schedule(w10, w11, w3, w8)
        round(g, h, a, &b, c, d, e, &f, 0x84C8_7814 &+ w10)
        w11 = schedule(w11, w12, w4, w9)
        round(f, g, h, &a, b, c, d, &e, 0x8CC7_0208 &+ w11)
        w12 = schedule(w12, w13, w5, w10)
        round(e, f, g, &h, a, b, c, &d, 0x90BE_FFFA &+ w12)
        w13 = schedule(w13, w14, w6, w11)
        round(d, e, f, &g, h, a, b, &c, 0xA450_6CEB &+ w13)
        w14 = schedule(w14, w15, w7, w12)
        round(c, d, e, &f, g, h, a, &b, 0xBEF9_A3F7 &+ w14)
        w15 = schedule(w15, w0, w8, w13)
        round(b, c, d, &e, f, g, h, &a, 0xC671_78F2 &+ w15)

        h0 &+= a
        h1 &+= b
        h2 &+= c
        h3 &+= d
        h4 &+= e
        h5 &+= f
        h6 &+= g
        h7 &+= h
    }
}

/// One round. `k` is the round's constant and word together.
@inline(always)
private func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32,
    _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: inout UInt32, _ k: UInt32
) {
    let sum1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
    h = h &+ sum1 &+ (g ^ (e & (f ^ g))) &+ k
    d = d &+ h
    let sum0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
    h = h &+ sum0 &+ ((a & b) | (c & (a | b)))
}

/// The word that takes the place of `w`, from those 1, 9 and 14 places after it.
@inline(always)
private func schedule(_ w: UInt32, _ w1: UInt32, _ w9: UInt32, _ w14: UInt32) -> UInt32 {
    let sigma0 = (w1 &>> 7 | w1 &<< 25) ^ (w1 &>> 18 | w1 &<< 14) ^ (w1 &>> 3)
    let sigma1 = (w14 &>> 17 | w14 &<< 15) ^ (w14 &>> 19 | w14 &<< 13) ^ (w14 &>> 10)
    return w &+ w9 &+ sigma0 &+ sigma1
}

/// Sixteen big-endian words as they lie in memory. Made of bytes, so it may lie at any address, and reading a whole
/// block is one access: in a build without optimisation 64 accesses would cost as much as the rounds.
struct SHA256Block: BitwiseCopyable {
    /// Four bytes, the most significant first.
    struct Word: BitwiseCopyable {
        private let byte0, byte1, byte2, byte3: UInt8

        var value: UInt32 {
            UInt32(truncatingIfNeeded: byte0) &<< 24 | UInt32(truncatingIfNeeded: byte1) &<< 16
                | UInt32(truncatingIfNeeded: byte2) &<< 8 | UInt32(truncatingIfNeeded: byte3)
        }
    }

    let word0, word1, word2, word3, word4, word5, word6, word7: Word
    let word8, word9, word10, word11, word12, word13, word14, word15: Word
}
