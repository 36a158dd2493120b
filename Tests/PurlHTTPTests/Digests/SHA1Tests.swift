import PurlHTTP
import Testing

@Suite("SHA-1 (FIPS 180-4)")
struct SHA1Tests {
    func digest(_ pieces: [[UInt8]]) -> String {
        var hash = SHA1()
        for piece in pieces { hash.update(piece.span.bytes) }
        return SHA256.hexadecimal(hash.finalize())
    }

    static let vectors: [(String, String)] = [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        ("The quick brown fox jumps over the lazy dog", "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"),
    ]

    @Test("Known messages have their known digests, however they are cut", arguments: vectors)
    func knownVectors(text: String, expected: String) {
        for pieces in everySplit(of: text.bytes) { #expect(digest(pieces) == expected) }
    }

    @Test("A million letters have their known digest")
    func million() {
        let piece = [UInt8](repeating: 0x61, count: 10_000)
        #expect(digest([[UInt8]](repeating: piece, count: 100)) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f")
    }

    @Test(
        "Messages of lengths around a block's have the same digest however they are cut",
        arguments: [54, 55, 56, 57, 63, 64, 65, 119, 120, 128])
    func lengths(count: Int) {
        let message = CodedSample.noise(count)
        var first = SHA1()
        first.update(message.span.bytes)
        var second = SHA1()
        for byte in message { second.update([byte].span.bytes) }
        #expect(first.finalize() == second.finalize())
    }
}
