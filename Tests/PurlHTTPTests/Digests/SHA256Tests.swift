import PurlHTTP
import Testing

@Suite("SHA-256 (FIPS 180-4)")
struct SHA256Tests {
    func digest(_ pieces: [[UInt8]]) -> String {
        var hash = SHA256()
        for piece in pieces { hash.update(piece.span.bytes) }
        return SHA256.hexadecimal(hash.finalize())
    }

    static let vectors: [(String, String)] = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ]

    @Test("Known messages have their known digests, however they are cut", arguments: vectors)
    func knownVectors(text: String, expected: String) {
        for pieces in everySplit(of: text.bytes) { #expect(digest(pieces) == expected) }
    }

    @Test("A million letters have their known digest")
    func million() {
        let piece = [UInt8](repeating: 0x61, count: 1_000)
        #expect(
            digest(Array(repeating: piece, count: 1_000))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    static let lengths: [(Int, String)] = [
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (2, "b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2"),
        (3, "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc"),
        (4, "054edec1d0211f624fed0cbca9d4f9400b0e491c43742af2c5b0abebf0c990d8"),
        (31, "4f23c2ca8c5c962e50cd31e221bfb6d0adca19111dca8e0c62598ff146dd19c4"),
        (32, "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"),
        (33, "5d8fcfefa9aeeb711fb8ed1e4b7d5c8a9bafa46e8e76e68aa18adce5a10df6ab"),
        (54, "675f28acc0b90a72d1c3a570fe83ac565555db358cf01826dc8eefb2bf7ca0f3"),
        (55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59"),
        (56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562"),
        (57, "2fe741af801cc238602ac0ec6a7b0c3a8a87c7fc7d7f02a3fe03d1c12eac4d8f"),
        (58, "e03b18640c635b338a92b82cce4ff072f9f1aba9ac5261ee1340f592f35c0499"),
        (59, "bd2de8f5dd15c73f68dfd26a614080c2e323b2b51b1b5ed9d7933e535d223bda"),
        (60, "0ddde28e40838ef6f9853e887f597d6adb5f40eb35d5763c52e1e64d8ba3bfff"),
        (61, "4b5c2783c91ceccb7c839213bcbb6a902d7fe8c2ec866877a51f433ea17f3e85"),
        (62, "c89da82cbcd76ddf220e4e9091019b9866ffda72bee30de1effe6c99701a2221"),
        (63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488"),
        (64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"),
        (65, "4bfd2c8b6f1eec7a2afeb48b934ee4b2694182027e6d0fc075074f2fabb31781"),
        (66, "b6dfd259f6e0d07deb658a88148f8253f9bbbb74ddd6db3edbe159a56bc35073"),
        (118, "d32ab00929cb935b79d44e74c5a745db460ff794dea3b79be40c1cc5cf5388ef"),
        (119, "da18797ed7c3a777f0847f429724a2d8cd5138e6ed2895c3fa1a6d39d18f7ec6"),
        (120, "f52b23db1fbb6ded89ef42a23ce0c8922c45f25c50b568a93bf1c075420bbb7c"),
        (121, "335a461692b30bba1d647cc71604e88e676c90e4c22455d0b8c83f4bd7c8ac9b"),
        (122, "3d08c4d7bdda7ec922b0741df357de46e7bd102f9ab7a5c67624ab58da6d9d75"),
        (123, "cc63be92e3a900cd067da89473b61b40579b54ef54f8305c2ffcc893743792e9"),
        (124, "865447fc4fae01471f2fc973bfb448de00217521ef02e3214d5177ea89c3ef31"),
        (125, "3daa582f9563601e290f3cd6d304bff7e25a9ee42a34ffbac5cf2bf40134e0d4"),
        (126, "5dda7cb7c2282a55676f8ad5c448092f4a9ebd65338b07ed224fcd7b6c73f5ef"),
        (127, "92ca0fa6651ee2f97b884b7246a562fa71250fedefe5ebf270d31c546bfea976"),
        (128, "471fb943aa23c511f6f72f8d1652d9c880cfa392ad80503120547703e56a2be5"),
        (129, "5099c6a56203f9687f7d33f4bfdf576d31dc91f6b695ecea38b2770c87631135"),
        (130, "8d39b60b9c767c58975b270c1d6b13c9b4507e5aee7ad496a3528e4c7f880721"),
        (191, "d280f473c251cb75c91880ea0eca2a2f1cda3152bef54a38c4a3aedad615c819"),
        (192, "8b4a544837a1a0280fa8a7c82865c27a1064b3cc6281fda0753566b9bb104a87"),
        (193, "7daafa7aed7d63d06a98b7b6f785eab5427d084f30d5c9ee6dd0d2f3ada329e6"),
        (1000, "4e4c294b331f7a2099a379bec34b9f9fc03dc46ab465d998f4d683da53487e6d"),
    ]

    @Test("Messages of every length around the borders of a block have their digests", arguments: lengths)
    func blockBorders(count: Int, expected: String) {
        let message = (0..<count).map { UInt8($0 % 251) }
        #expect(digest([message]) == expected)
        #expect(digest(message.map { [$0] }) == expected)
        #expect(digest([Array(message[..<(count / 3)]), [], Array(message[(count / 3)...])]) == expected)
    }

    @Test("A block may lie at any address")
    func addresses() {
        let bytes = (0..<400).map { UInt8($0 % 251) }
        for start in 0..<16 {
            var hash = SHA256()
            hash.update(bytes.span.bytes.extracting(start..<(start + 300)))
            #expect(SHA256.hexadecimal(hash.finalize()) == digest([Array(bytes[start..<(start + 300)])]))
        }
    }

    @Test("After the digest a new message begins")
    func startsOver() {
        var hash = SHA256()
        hash.update("something".bytes.span.bytes)
        _ = hash.finalize()
        hash.update("abc".bytes.span.bytes)
        #expect(SHA256.hexadecimal(hash.finalize()) == Self.vectors[1].1)
    }

    @Test("A copy is independent of the original")
    func copies() {
        var first = SHA256()
        first.update("a".bytes.span.bytes)
        var second = first
        first.update("bc".bytes.span.bytes)
        second.update("x".bytes.span.bytes)
        #expect(SHA256.hexadecimal(first.finalize()) == Self.vectors[1].1)
        #expect(SHA256.hexadecimal(second.finalize()) == digest(["ax".bytes]))
    }

    @Test("Hexadecimal has two lower-case digits for each byte")
    func hexadecimal() {
        #expect(SHA256.hexadecimal([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(SHA256.hexadecimal([]) == "")
    }
}
