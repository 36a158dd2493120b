import PurlHTTP
import Testing

@Suite("Close frames (RFC 6455 §5.5.1, §7.4)")
struct CloseFrameTests {
    func closing(_ payload: [UInt8]) -> WebSocketOutcome { webSocketEvents([frame(8, payload)]) }

    func payload(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] { [UInt8(code >> 8), UInt8(code & 0xFF)] + reason }

    @Test("A close frame without content has no code")
    func empty() {
        #expect(closing([]) == WebSocketOutcome([.close(WebSocketClose())]))
    }

    @Test("Half a code is rejected")
    func half() {
        #expect(closing([3]).error == .closeTooShort)
    }

    @Test(
        "Registered and private codes are accepted",
        arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
            as [UInt16])
    func allowed(code: UInt16) {
        let close = WebSocketClose(code: code, reason: "bye €".bytes)
        #expect(closing(payload(code, "bye €".bytes)) == WebSocketOutcome([.close(close)]))
        #expect(close.payload == payload(code, "bye €".bytes))
    }

    @Test(
        "Codes that must not be sent are rejected",
        arguments: [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16])
    func forbidden(code: UInt16) {
        #expect(closing(payload(code)).error == .invalidCloseCode(code))
        #expect(WebSocketClose(code: code, reason: "why".bytes).payload.isEmpty)
    }

    @Test("A reason that is not UTF-8 is rejected", arguments: [[0xFF], [0xCE], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func reasons(reason: [UInt8]) {
        #expect(closing(payload(1000, reason)).error == .invalidCloseReason)
        #expect(WebSocketError.invalidCloseReason.closeCode == 1007)
        #expect(WebSocketClose(code: 1000, reason: reason).payload == payload(1000))
    }

    @Test("A long reason is cut between two characters")
    func longReasons() {
        let longest = [UInt8](repeating: 0x61, count: 123)
        #expect(WebSocketClose(code: 1000, reason: longest).payload.count == 125)
        #expect(WebSocketClose(code: 1000, reason: longest + [0x61]).payload.count == 125)
        let euros = Array(String(repeating: "€", count: 50).utf8)
        #expect(WebSocketClose(code: 1000, reason: euros).payload == payload(1000, Array(euros[..<123])))
        let shifted = "a".bytes + euros
        #expect(WebSocketClose(code: 1000, reason: shifted).payload == payload(1000, Array(shifted[..<121])))
    }
}
