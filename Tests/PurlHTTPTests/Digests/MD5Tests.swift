import PurlHTTP
import Testing

@Suite("MD5 (RFC 1321)")
struct MD5Tests {
    func digest(_ pieces: [[UInt8]]) -> String {
        var hash = MD5()
        for piece in pieces { hash.update(piece.span.bytes) }
        return SHA256.hexadecimal(hash.finalize())
    }

    static let vectors: [(String, String)] = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ]

    @Test("The RFC's examples have their digests, however they are cut", arguments: vectors)
    func knownVectors(text: String, expected: String) {
        for pieces in everySplit(of: text.bytes) { #expect(digest(pieces) == expected) }
    }

    static let lengths: [(Int, String)] = [
        (1, "93b885adfe0da089cdf634904fd59f71"),
        (54, "33dd62a2df6538daf1cf821d9cde61f9"),
        (55, "6912ee65fff2d9f9ce2508cddf8bcda0"),
        (56, "51fdd1acda72405dfdfa03fcb85896d7"),
        (57, "5320ef4c17ef34a0cf2db763338d25eb"),
        (63, "48a6295221902e8e0938f773a7185e72"),
        (64, "b2d3f56bc197fd985d5965079b5e7148"),
        (65, "8bd7053801c768420faf816fadba971c"),
        (118, "4541055c6675b614d27c537c3bb15675"),
        (119, "1c772251899a7ff007400b888d6b2042"),
        (120, "b7ba1efc6022e9ed272f00b8831e26e6"),
        (121, "b0b2d719a838db877b6d6571a39a1cdc"),
        (127, "8402b21e7bc7906493bae0dac017f1f9"),
        (128, "37eff01866ba3f538421b30b7cbefcac"),
        (129, "46f986692847558fc38b0cece591c20f"),
        (1000, "a24f1e3ef66950e1327f210e3997ba2c"),
    ]

    @Test("Messages of every length around the borders of a block have their digests", arguments: lengths)
    func blockBorders(count: Int, expected: String) {
        let message = (0..<count).map { UInt8($0 % 251) }
        #expect(digest([message]) == expected)
        #expect(digest(message.map { [$0] }) == expected)
        #expect(digest([Array(message[..<(count / 3)]), [], Array(message[(count / 3)...])]) == expected)
    }

    @Test("After the digest a new message begins")
    func startsOver() {
        var hash = MD5()
        hash.update("something".bytes.span.bytes)
        _ = hash.finalize()
        hash.update("abc".bytes.span.bytes)
        #expect(SHA256.hexadecimal(hash.finalize()) == Self.vectors[2].1)
    }
}
