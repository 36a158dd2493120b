import PurlHTTP
import Testing

@Suite("Damaged frames do no harm")
struct WebSocketMutationTests {
    @Test("They mean the same however they are cut", arguments: Array(UInt64(0)..<16))
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

    @Test("A damaged extension is refused, or understood", arguments: Array(UInt64(0)..<16))
    func fields(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sound = "permessage-deflate; server_no_context_takeover; client_max_window_bits=\"10\""
        for _ in 0..<300 {
            let text = String(decoding: random.mutated(sound.bytes), as: UTF8.self)
            guard let read = WebSocketExtension(text), let offer = PermessageDeflateOffer(read) else { continue }
            #expect(WebSocketExtension(offer.description).flatMap { PermessageDeflateOffer($0) } == offer)
        }
    }
}
