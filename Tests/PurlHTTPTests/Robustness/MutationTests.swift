import PurlHTTP
import Testing

@Suite("Damaged input")
struct MutationTests {
    static let seeds = Array(UInt64(0)..<16)

    @Test("A damaged response is read the same however it is cut", arguments: seeds)
    func responses(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sound =
            "\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n c\r\nX-Y: \"d, e\"\r\n\r\n"
        for _ in 0..<300 {
            let bytes = random.mutated(sound.bytes)
            let whole = responseHeads([bytes])
            #expect(responseHeads(random.pieces(of: bytes)) == whole)
            for head in whole.found {
                _ = try? BodyFraming.ofResponse(head, to: "GET")
                _ = ConnectionReuse.idleTimeout(head)
                expectRoundTrip(head)
            }
        }
    }

    /// A head that could be read can be written, and is read again as the same.
    private func expectRoundTrip(_ head: ResponseHead) {
        var written: [UInt8] = []
        #expect(throws: Never.self) { try head.encode(into: &written) }
        let again = responseHeads([written])
        #expect(again.found == [head])
    }

    @Test("A damaged request is read the same however it is cut", arguments: seeds)
    func requests(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sound = "GET /a?b=c HTTP/1.1\r\nHost: localhost:80\r\nRange: bytes=0-\r\n\r\nHEAD / HTTP/1.0\n\n"
        for _ in 0..<300 {
            let bytes = random.mutated(sound.bytes)
            #expect(requestHeads(random.pieces(of: bytes)) == requestHeads([bytes]))
        }
    }

    @Test("Damaged chunks are read the same however they are cut", arguments: seeds)
    func chunks(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sound = "5\r\nhello\r\n1a;x=\"y\"\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nA: 1\r\n 2\r\n\r\n"
        for _ in 0..<300 {
            let bytes = random.mutated(sound.bytes)
            let pieces = random.pieces(of: bytes)
            var (whole, cut) = (body(.chunked, [bytes]), body(.chunked, pieces))
            // After an error the remaining bytes do not count.
            if whole.error != nil {
                whole.found[0].leftOver = 0
                cut.found[0].leftOver = 0
            }
            #expect(cut == whole)
        }
    }

    @Test("A damaged field value is rejected, or written so that it is read as the same value", arguments: seeds)
    func values(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            expectRoundTrip("Sun, 06 Nov 1994 08:49:37 GMT", &random) { HTTPDate($0) }
            expectRoundTrip("Sunday, 06-Nov-94 08:49:37 GMT", &random) { HTTPDate($0) }
            expectRoundTrip("Sun Nov  6 08:49:37 1994", &random) { HTTPDate($0) }
            expectRoundTrip("W/\"abc-1\"", &random) { EntityTag($0) }
            expectRoundTrip("bytes 10-19/100", &random) { ContentRange($0) }
            expectRoundTrip("bytes=0-9, 20-, -5", &random) { ByteRangeSet($0) }
            expectRoundTrip("text/html; charset=\"utf-8\"; a=b", &random) { MediaType($0) }
            expectRoundTrip("attachment; filename=\"a\\\"b\"; filename*=UTF-8''a%20b", &random) {
                ContentDisposition($0)
            }
        }
    }

    private func expectRoundTrip<Value: Equatable & CustomStringConvertible>(
        _ sound: String, _ random: inout SeededGenerator, _ read: (String) -> Value?
    ) {
        // Controls never get into a field value: the head parser rejects them.
        let damaged = random.mutated(sound.bytes).filter { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }
        guard let value = read(String(decoding: damaged, as: UTF8.self)) else { return }
        #expect(read(value.description) == value)
    }
}
