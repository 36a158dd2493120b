import PurlHTTP
import Testing

@Suite("Compressed messages (RFC 7692 §7.2)")
struct MessageCompressionTests {
    static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]

    static let examples: [(String, [UInt8], [String])] = [
        ("one frame", frame(1, hello, rsv: 4), ["Hello"]),
        (
            "two fragments", frame(1, Array(hello[..<3]), fin: false, rsv: 4) + frame(0, Array(hello[3...])),
            ["Hello"]
        ),
        (
            "the window of the message before",
            frame(1, hello, rsv: 4) + frame(1, [0xF2, 0x00, 0x11, 0x00, 0x00], rsv: 4),
            ["Hello", "Hello"]
        ),
        (
            "a block without compression",
            frame(1, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], rsv: 4), ["Hello"]
        ),
        (
            "a last block",
            frame(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], rsv: 4) + frame(1, hello, rsv: 4),
            ["Hello", "Hello"]
        ),
        (
            "two blocks",
            frame(1, [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], rsv: 4), ["Hello"]
        ),
        ("an empty message", frame(1, [0x00], rsv: 4), [""]),
        ("not compressed, in between", frame(1, "plain".bytes) + frame(1, hello, rsv: 4), ["plain", "Hello"]),
    ]

    @Test("The RFC's examples are read, however the input is cut", arguments: examples)
    func known(name: String, bytes: [UInt8], texts: [String]) {
        for pieces in everySplit(of: bytes) {
            #expect(
                webSocketEvents(pieces, compression: PermessageDeflate())
                    == WebSocketOutcome(texts.map { .text($0) }))
        }
    }

    static let settings: [PermessageDeflate] = [
        PermessageDeflate(), PermessageDeflate(clientNoContextTakeover: true),
        PermessageDeflate(clientMaxWindowBits: 8),
        PermessageDeflate(serverNoContextTakeover: true, clientMaxWindowBits: 12),
    ]

    @Test("Messages survive compression, with control frames between them", arguments: settings)
    func roundTrip(agreed: PermessageDeflate) {
        let contents = [
            [], "a".bytes, "Hello".bytes, CodedSample.words(100), CodedSample.words(100), CodedSample.words(65_536),
            CodedSample.noise(1_000), CodedSample.words(200_000), [UInt8](repeating: 0, count: 100_000),
        ]
        var writer = WebSocketWriter(role: .client, compression: agreed)
        var bytes: [UInt8] = []
        var expected: [WebSocketReader.Event] = []
        for content in contents {
            var position = 0
            while !writer.write(
                content.span.bytes, isText: false, from: &position, makeKey: { 0x1234_5678 }, into: &bytes)
            {
                #expect(writer.isBetweenFrames)
                writer.write(.ping, [], makeKey: { 9 }, into: &bytes)
                expected.append(.ping([]))
            }
            expected.append(.binary(content))
        }
        #expect(webSocketEvents([bytes], role: .server, compression: agreed) == WebSocketOutcome(expected))
        let pieces = stride(from: 0, to: bytes.count, by: 1_000).map { Array(bytes[$0..<min(bytes.count, $0 + 1_000)]) }
        #expect(webSocketEvents(pieces, role: .server, compression: agreed) == WebSocketOutcome(expected))
    }

    @Test("With context takeover the second message is smaller")
    func takeover() {
        for (agreed, isSmaller) in [
            (PermessageDeflate(), true), (PermessageDeflate(serverNoContextTakeover: true), false),
        ] {
            var writer = WebSocketWriter(role: .server, compression: agreed)
            let first = written(CodedSample.noise(200), by: &writer)
            let second = written(CodedSample.noise(200), by: &writer)
            #expect((second.count < first.count / 2) == isSmaller)
        }
    }

    @Test("A server that agreed to no context takeover must not refer to earlier messages")
    func noTakeover() {
        let bytes = frame(1, Self.hello, rsv: 4) + frame(1, [0xF2, 0x00, 0x11, 0x00, 0x00], rsv: 4)
        let outcome = webSocketEvents([bytes], compression: PermessageDeflate(serverNoContextTakeover: true))
        #expect(outcome.found == [.text("Hello")])
        #expect(outcome.error == .compression(.distanceTooFar))
    }

    @Test("A decompression bomb fails at the limit of the decoded message")
    func bombs() {
        var writer = WebSocketWriter(role: .server, compression: PermessageDeflate())
        let zeros = [UInt8](repeating: 0, count: 1_000_000)
        let bytes = written(zeros, by: &writer)
        #expect(bytes.count < 10_000)
        for limit in [0, 10, 99_999, 999_999] {
            let outcome = webSocketEvents([bytes], limit: limit, compression: PermessageDeflate())
            #expect(outcome.error == .messageTooBig(limit: limit))
        }
        #expect(
            webSocketEvents([bytes], limit: 1_000_000, compression: PermessageDeflate())
                == WebSocketOutcome([.binary(zeros)]))
    }

    static let broken: [(String, [UInt8], WebSocketError)] = [
        ("a block type that does not exist", [0xFF, 0xFF], .compression(.invalidBlockType)),
        ("before the beginning", [0xF2, 0x00, 0x11, 0x00, 0x00], .compression(.distanceTooFar)),
        ("text that is none", [0x4A, 0xF9, 0x0F, 0x00, 0x00], .invalidText),
    ]

    @Test("A damaged compressed message is rejected", arguments: broken)
    func damage(name: String, bytes: [UInt8], error: WebSocketError) {
        let outcome = webSocketEvents([frame(1, bytes, rsv: 4)], compression: PermessageDeflate())
        #expect(outcome.found.isEmpty)
        #expect(outcome.error?.closeCode == 1007)
        if error != .invalidText { #expect(outcome.error == error) }
    }

    @Test("A message that stops in the middle of a block is rejected")
    func unfinished() {
        // A block without compression that promises more than there is: the flush that was left out fills it.
        let outcome = webSocketEvents(
            [frame(2, [0x00, 0x20, 0x00, 0xDF, 0xFF, 1, 2, 3], rsv: 4)], compression: PermessageDeflate())
        #expect(outcome.error == .compressionIncomplete)
    }

    @Test("A continuation with the compression bit is rejected")
    func bitOfContinuation() {
        let bytes = frame(1, Array(Self.hello[..<3]), fin: false, rsv: 4) + frame(0, Array(Self.hello[3...]), rsv: 4)
        #expect(webSocketEvents([bytes], compression: PermessageDeflate()).error == .reservedBits)
    }
}
