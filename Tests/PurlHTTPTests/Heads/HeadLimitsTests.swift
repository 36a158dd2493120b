import PurlHTTP
import Testing

@Suite("Limits of heads")
struct HeadLimitsTests {
    @Test("A head may be exactly as large as the limit")
    func exactSize() {
        let text = "\r\nHTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\r\n"
        for pieces in everySplit(of: text.bytes) {
            let exact = HeadLimits(maximumBytes: text.utf8.count)
            #expect(responseHeads(pieces, limits: exact).found.count == 1)
            let less = HeadLimits(maximumBytes: text.utf8.count - 1)
            #expect(responseHeads(pieces, limits: less) == Outcome(error: .headTooLarge))
        }
    }

    static let endless: [(start: String, again: String)] = [
        ("", "\r\n"),
        ("HTTP/", "x"),
        ("HTTP/1.1 200 ", "x"),
        ("HTTP/1.1 200 OK\r\n", "x"),
        ("HTTP/1.1 200 OK\r\nA: ", "x"),
        ("HTTP/1.1 200 OK\r\nA: 1\r\n", " x\r\n"),
        ("HTTP/1.1 200 OK\r\n", "A: 1\r\n"),
    ]

    @Test("An endless head fails at the limit in pieces of any size", arguments: endless, [1, 7, 1_000])
    func endlessHeads(head: (start: String, again: String), pieceSize: Int) {
        var limits = HeadLimits(maximumBytes: 4_096)
        limits.maximumFields = 1_000
        var parser = ResponseHeadParser(limits: limits)
        let endless = (head.start + String(repeating: head.again, count: 8_000)).bytes
        var taken = 0
        var failure: ParseError?
        while failure == nil, taken < endless.count {
            let piece = Array(endless[taken..<min(endless.count, taken + pieceSize)])
            var offset = 0
            do throws(ParseError) {
                #expect(try parser.parse(piece.span.bytes, from: &offset) == nil)
            } catch {
                failure = error
            }
            taken += piece.count
        }
        #expect(failure == .headTooLarge)
        #expect(taken <= 4_096 + pieceSize)
    }

    @Test("A head may have exactly as many fields as the limit, repeated ones counted")
    func fieldCount() {
        let limits = HeadLimits(maximumFields: 3)
        let three = "HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\n 2\r\nB: 3\r\n"
        for pieces in everySplit(of: (three + "\r\n").bytes) {
            #expect(responseHeads(pieces, limits: limits).found.first?.fields.count == 3)
        }
        for pieces in everySplit(of: (three + "C: 4\r\n\r\n").bytes) {
            #expect(responseHeads(pieces, limits: limits) == Outcome(error: .tooManyFields))
        }
    }

    @Test("Each head is counted from zero")
    func eachHeadCountsFromZero() {
        let text = String(repeating: "HTTP/1.1 100 Continue\r\nA: 1\r\n\r\n", count: 20)
        let limits = HeadLimits(maximumBytes: 40, maximumFields: 1)
        #expect(responseHeads([text.bytes], limits: limits).found.count == 20)
        #expect(responseHeads(text.bytes.map { [$0] }, limits: limits).found.count == 20)
    }

    @Test("Absurd limits reject every head without a trap", arguments: [0, -1, Int.min])
    func absurdLimits(limit: Int) {
        let limits = HeadLimits(
            maximumBytes: limit, maximumFields: limit, maximumTrailerBytes: limit, maximumChunkExtensionBytes: limit)
        #expect(responseHeads(["HTTP/1.1 200 OK\r\n\r\n".bytes], limits: limits).error == .headTooLarge)
        #expect(body(.chunked, ["0\r\n\r\n".bytes], limits: limits).error?.kind == .limitExceeded)
    }

    @Test("The largest limits do not overflow")
    func largestLimits() {
        let limits = HeadLimits(
            maximumBytes: .max, maximumFields: .max, maximumTrailerBytes: .max, maximumChunkExtensionBytes: .max)
        #expect(responseHeads(["HTTP/1.1 200 OK\r\nA: 1\r\n\r\n".bytes], limits: limits).found.count == 1)
        #expect(body(.chunked, ["0;a=b\r\nA: 1\r\n\r\n".bytes], limits: limits).found.first?.trailers == ["A": "1"])
    }
}
