import PurlHTTP
import Testing

@Suite("Messages and fragments (RFC 6455 §5.4)")
struct MessageTests {
    static let streams: [(String, [UInt8], [WebSocketReader.Event])] = [
        ("a text", frame(1, "Hello".bytes), [.text("Hello")]),
        ("no text", frame(1), [.text("")]),
        ("bytes", frame(2, [0, 255]), [.binary([0, 255])]),
        ("two fragments", frame(1, "Hel".bytes, fin: false) + frame(0, "lo".bytes), [.text("Hello")]),
        (
            "empty fragments",
            frame(1, fin: false) + frame(0, fin: false) + frame(0, "x".bytes, fin: false) + frame(0),
            [.text("x")]
        ),
        (
            "a ping between fragments", frame(2, [1], fin: false) + frame(9, "p".bytes) + frame(0, [2]),
            [.ping("p".bytes), .binary([1, 2])]
        ),
        (
            "a close between fragments", frame(2, [1], fin: false) + frame(8),
            [.close(WebSocketClose())]
        ),
        ("an unsolicited pong", frame(0xA, "x".bytes), [.pong("x".bytes)]),
        ("a character across fragments", frame(1, [0xE2, 0x82], fin: false) + frame(0, [0xAC]), [.text("€")]),
        (
            "126 bytes, then one", frame(2, [UInt8](repeating: 7, count: 126)) + frame(2, [8]),
            [.binary([UInt8](repeating: 7, count: 126)), .binary([8])]
        ),
    ]

    @Test("Messages are read the same however the input is cut", arguments: streams)
    func cuts(name: String, bytes: [UInt8], events: [WebSocketReader.Event]) {
        for pieces in everySplit(of: bytes) { #expect(webSocketEvents(pieces) == WebSocketOutcome(events)) }
    }

    static let disorders: [(String, [UInt8], WebSocketError)] = [
        ("a new message too early", frame(1, "a".bytes, fin: false) + frame(1, "b".bytes), .missingContinuation),
        ("bytes in the middle of text", frame(1, "a".bytes, fin: false) + frame(2), .missingContinuation),
        ("one continuation too many", frame(1, "a".bytes) + frame(0, "b".bytes), .unexpectedContinuation),
    ]

    @Test("Fragments out of order are rejected", arguments: disorders)
    func disorder(name: String, bytes: [UInt8], error: WebSocketError) {
        for pieces in everySplit(of: bytes) { #expect(webSocketEvents(pieces).error == error) }
    }

    static let sizes: [(String, [UInt8], Bool)] = [
        ("as much as allowed", frame(2, [UInt8](repeating: 0, count: 300)), true),
        ("one byte more", frame(2, [UInt8](repeating: 0, count: 301)), false),
        (
            "as much in fragments",
            frame(2, [UInt8](repeating: 0, count: 200), fin: false) + frame(0, [UInt8](repeating: 0, count: 100)), true
        ),
        (
            "more in fragments",
            frame(2, [UInt8](repeating: 0, count: 200), fin: false) + frame(0, [UInt8](repeating: 0, count: 101)), false
        ),
    ]

    @Test("The limit of a message counts all its fragments", arguments: sizes)
    func limits(name: String, bytes: [UInt8], isAllowed: Bool) {
        let outcome = webSocketEvents([bytes], limit: 300)
        #expect(outcome.error == (isAllowed ? nil : .messageTooBig(limit: 300)))
        #expect(WebSocketError.messageTooBig(limit: 1).closeCode == 1009)
    }

    @Test("A reader knows whether a message has begun")
    func partial() throws {
        var reader = WebSocketReader(role: .client, maximumMessageSize: 10)
        #expect(!reader.hasPartialMessage)
        var offset = 0
        let bytes = frame(1, "a".bytes, fin: false)
        #expect(try reader.next(bytes.span.bytes, from: &offset) == nil)
        #expect(reader.hasPartialMessage)
    }

    @Test("A large message is written completely in portions", arguments: [65_535, 65_536, 65_537, 300_000])
    func portions(size: Int) {
        var writer = WebSocketWriter(role: .client)
        let content = CodedSample.words(size)
        let bytes = written(content, isText: true, by: &writer)
        #expect(!writer.isBetweenFrames)
        #expect(webSocketEvents([bytes], role: .server) == WebSocketOutcome([.message(.text(content))]))
    }

    @Test("Control frames are cut at 125 bytes")
    func controlLimit() {
        var writer = WebSocketWriter(role: .server)
        var output: [UInt8] = []
        writer.write(.ping, [UInt8](repeating: 1, count: 126), makeKey: { 0 }, into: &output)
        #expect(output == [0x89, 125] + [UInt8](repeating: 1, count: 125))
    }

    @Test("Damaged frames are read the same however they are cut", arguments: Array(UInt64(0)..<16))
    func damaged(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var writer = WebSocketWriter(role: .server, compression: PermessageDeflate())
        let sound =
            frame(1, "Hel".bytes, fin: false) + frame(9, "p".bytes) + frame(0, "lo €".bytes)
            + written(CodedSample.words(200), isText: true, by: &writer) + frame(2, [UInt8](repeating: 3, count: 130))
            + written(CodedSample.words(200), isText: true, by: &writer) + frame(8, [3, 232] + "bye".bytes)
        for _ in 0..<300 {
            let bytes = random.mutated(sound)
            let whole = webSocketEvents([bytes], limit: 1_000, compression: PermessageDeflate())
            let cut = webSocketEvents(random.pieces(of: bytes), limit: 1_000, compression: PermessageDeflate())
            #expect(cut.found == whole.found)
            // Which fault of damaged compression is met first depends on how much is decoded at once.
            #expect((cut.error == nil) == (whole.error == nil))
        }
    }
}
