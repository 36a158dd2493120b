import PurlHTTP
import Testing

@Suite("UTF-8 in pieces (RFC 3629)")
struct UTF8ValidatorTests {
    @Test("Each scalar is valid, and other bytes are valid only where the standard library accepts them")
    func everyScalar() {
        var text = ""
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 7) {
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        var validator = UTF8Validator()
        let whole = validator.take(text.bytes.span.bytes)
        #expect(whole)
        #expect(validator.isComplete)
    }

    @Test("All sequences of up to four critical bytes are valid only where the standard library accepts them")
    func awkwardBytes() {
        let bytes: [UInt8] = [
            0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
            0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        var disagreements = 0
        for first in bytes {
            for second in bytes {
                for third in bytes {
                    for fourth in bytes where !isText([first, second, third, fourth]) {
                        disagreements += 1
                    }
                }
            }
        }
        #expect(disagreements == 0)
    }

    /// Whether both judge alike.
    private func isText(_ text: [UInt8]) -> Bool {
        var validator = UTF8Validator()
        let ours = validator.take(text.span.bytes) && validator.isComplete
        return ours == (String(validating: text, as: UTF8.self) != nil)
    }

    static let early: [(String, [UInt8], Int)] = [
        ("a lone continuation", [0x61, 0x80], 2),
        ("an overlong slash", [0xC0, 0xAF], 1),
        ("an overlong three", [0xE0, 0x80, 0xAF], 2),
        ("a surrogate", [0xCE, 0xBA, 0xED, 0xA0, 0x80], 4),
        ("above the last", [0xF4, 0x90, 0x80, 0x80], 2),
        ("cut short by a letter", [0xE2, 0x82, 0x61], 3),
        ("far beyond", [0xF8], 1),
    ]

    @Test("A text message fails at its first wrong byte, in any fragment", arguments: early)
    func failFast(name: String, text: [UInt8], count: Int) {
        let whole = frame(1, text + [UInt8](repeating: 0x61, count: 20))
        let outcome = webSocketEvents(whole.map { [$0] })
        #expect(outcome.error == .invalidText)
        #expect(outcome.bytesBeforeError == 2 + count)
        let fragments = text.map { frame(0, [$0], fin: false) }
        let cut = frame(1, fin: false) + fragments.flatMap { $0 }
        let second = webSocketEvents(cut.map { [$0] })
        #expect(second.error == .invalidText)
        #expect(second.bytesBeforeError == 2 + 3 * count)
        #expect(WebSocketError.invalidText.closeCode == 1007)
    }

    @Test("A text that ends in the middle of a character is rejected")
    func unfinished() {
        #expect(webSocketEvents([frame(1, [0xE2, 0x82])]).error == .invalidText)
        #expect(webSocketEvents([frame(1, [0xE2, 0x82], fin: false)]).error == nil)
        #expect(webSocketEvents([frame(2, [0xE2, 0x82])]).error == nil)
    }
}
