import PurlHTTP
import Testing

@Suite("Frame headers (RFC 6455 §5.2)")
struct FrameHeaderTests {
    static let written: [(WebSocketFrameHeader, [UInt8])] = [
        (WebSocketFrameHeader(.text, length: 5), [0x81, 0x05]),
        (WebSocketFrameHeader(.text, length: 5, maskingKey: 0x3D21_FA37), [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D]),
        (WebSocketFrameHeader(.text, length: 3, isFinal: false), [0x01, 0x03]),
        (WebSocketFrameHeader(.continuation, length: 2), [0x80, 0x02]),
        (WebSocketFrameHeader(.ping, length: 125), [0x89, 0x7D]),
        (WebSocketFrameHeader(.binary, length: 126), [0x82, 0x7E, 0x00, 0x7E]),
        (WebSocketFrameHeader(.binary, length: 256), [0x82, 0x7E, 0x01, 0x00]),
        (WebSocketFrameHeader(.binary, length: 65_535), [0x82, 0x7E, 0xFF, 0xFF]),
        (WebSocketFrameHeader(.binary, length: 65_536), [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]),
        (
            WebSocketFrameHeader(.binary, length: .max, isCompressed: true),
            [0xC2, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        ),
    ]

    @Test("Headers are written in their shortest form", arguments: written)
    func writing(header: WebSocketFrameHeader, bytes: [UInt8]) {
        var output: [UInt8] = []
        header.encode(into: &output)
        #expect(output == bytes)
    }

    static let broken: [(String, [UInt8], WebSocketError)] = [
        ("RSV1 without an extension", [0xC1], .reservedBits),
        ("RSV2", [0xA1], .reservedBits),
        ("RSV3", [0x91], .reservedBits),
        ("RSV1 of a ping", [0xC9], .reservedBits),
        ("opcode 3", [0x83], .reservedOpcode(3)),
        ("opcode 7", [0x87], .reservedOpcode(7)),
        ("opcode 11", [0x8B], .reservedOpcode(11)),
        ("opcode 15", [0x8F], .reservedOpcode(15)),
        ("a ping in fragments", [0x09], .fragmentedControlFrame),
        ("a close in fragments", [0x08], .fragmentedControlFrame),
        ("a ping of 126 bytes", [0x89, 0x7E], .controlFrameTooLong),
        ("a pong with a 64-bit length", [0x8A, 0x7F], .controlFrameTooLong),
        ("a server's frame with a mask", [0x81, 0x80], .maskedFrame),
        ("125 in two bytes", [0x82, 0x7E, 0x00, 0x7D], .lengthNotShortest),
        ("65,535 in eight bytes", [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .lengthNotShortest),
        ("a length of 64 bits", [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthTooLarge),
        ("a continuation frame without a message", [0x80, 0x00], .unexpectedContinuation),
    ]

    @Test("A header that breaks a rule is rejected at its first wrong byte", arguments: broken)
    func rejects(name: String, bytes: [UInt8], error: WebSocketError) {
        let outcome = webSocketEvents((bytes + [0, 0, 0]).map { [$0] })
        #expect(outcome.error == error)
        #expect(outcome.bytesBeforeError == bytes.count)
        #expect(outcome.found.isEmpty)
        #expect(webSocketEvents([bytes]).error == error)
        #expect(!error.description.isEmpty)
        #expect(error.closeCode == 1002)
    }

    @Test("A server rejects unmasked frames")
    func unmasked() {
        #expect(webSocketEvents([frame(1, "a".bytes)], role: .server).error == .unmaskedFrame)
        #expect(
            webSocketEvents([frame(1, "a".bytes, mask: [1, 2, 3, 4])], role: .server)
                == WebSocketOutcome([.text("a")]))
    }

    @Test("No memory is allocated for a length that is too big")
    func giantLengths() {
        let header: [UInt8] = [0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        #expect(webSocketEvents([header]).error == .messageTooBig(limit: 1 << 20))
        // Allowed, but not there: waits for it.
        #expect(webSocketEvents([header], limit: .max) == WebSocketOutcome())
    }
}
