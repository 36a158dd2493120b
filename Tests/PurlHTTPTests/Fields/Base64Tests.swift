import PurlHTTP
import Testing

@Suite("Base64 (RFC 4648 §4)")
struct Base64Tests {
    static let vectors: [(String, String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"), ("\u{FB}\u{3FF}", "w7vPvw=="),
    ]

    @Test("The RFC's examples are encoded and decoded", arguments: vectors)
    func examples(plain: String, coded: String) {
        #expect(Base64.encode(plain.utf8) == coded)
        #expect(Base64.decode(coded.utf8) == plain.bytes)
    }

    @Test("All bytes survive encoding and decoding")
    func roundTrip() {
        for count in 0..<60 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 83 &+ count) }
            #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
        }
        #expect(Base64.encode([0xFF, 0xEF, 0xFE]) == "/+/+")
    }

    @Test(
        "Any text that is not canonical base64 is rejected",
        arguments: [
            "Z", "Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zm9vYg", "Zh==", "Zm9=", "Zm9v=", "Zg==Zg==", " Zg==",
            "Zg==\n", "Zm\r\n", "Zm-_", "Zm9é", "Z=g=", "Zm9v\u{0}===",
        ])
    func rejects(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }
}
