import PurlHTTP
import Testing

@Suite("The chunked coding (RFC 9112 §7.1)")
struct ChunkedDecodingTests {
    static let accepted: [(String, String, HeaderFields)] = [
        ("0\r\n\r\n", "", [:]),
        ("5\r\nhello\r\n0\r\n\r\n", "hello", [:]),
        ("5\r\nhello\r\n1\r\n \r\n6\r\nworld!\r\n0\r\n\r\n", "hello world!", [:]),
        ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789", [:]),
        ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789", [:]),
        ("00000000000000000000005\r\nhello\r\n000\r\n\r\n", "hello", [:]),
        ("5\r\nhello\r\n0\r\nA: 1\n\n", "hello", ["A": "1"]),
        ("4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", [:]),
        // Extensions
        ("5;a\r\nhello\r\n0;b=c\r\n\r\n", "hello", [:]),
        ("5 ; a = \"b;\\\"c\" ;d\r\nhello\r\n0\r\n\r\n", "hello", [:]),
        ("5  \t\r\nhello\r\n0 \r\n\r\n", "hello", [:]),
        ("5;\r\nhello\r\n0;é\r\n\r\n", "hello", [:]),
        // Trailers
        ("0\r\nA: 1\r\n\r\n", "", ["A": "1"]),
        ("5\r\nhello\r\n0\r\nA: 1\r\n 2\r\nB:\r\nA: 3\r\n\r\n", "hello", ["A": "1 2", "B": "", "A": "3"]),
    ]

    @Test("A valid body is decoded, and no byte after it is taken", arguments: accepted)
    func accepts(text: String, content: String, trailers: HeaderFields) {
        for pieces in everySplit(of: (text + "next").bytes) {
            #expect(
                body(.chunked, pieces) == Outcome(found: [Body(content: content, trailers: trailers, leftOver: 4)]))
        }
    }

    @Test("A body that stops before its end fails as premature", arguments: accepted.map(\.0))
    func stops(text: String) {
        for count in 0..<text.utf8.count {
            #expect(body(.chunked, [Array(text.bytes[..<count])], atEnd: true).error == .prematureEnd)
        }
    }

    static let refused: [(String, String, ParseError)] = [
        ("\r\n", "", .invalidChunkSize),
        ("\n", "", .invalidChunkSize),
        ("5\nhello\r\n", "", .invalidChunkSize),
        ("5;a\nhello\r\n", "", .invalidChunkExtension),
        ("5\r\nhello\n0\r\n\r\n", "hello", .missingChunkEnd),
        ("6\r\nhello\r\n0\r\n\r\n", "hello\r", .missingChunkEnd),
        (";a\r\n", "", .invalidChunkSize),
        (" 5\r\n", "", .invalidChunkSize),
        ("-5\r\n", "", .invalidChunkSize),
        ("+5\r\n", "", .invalidChunkSize),
        ("0x5\r\n", "", .invalidChunkSize),
        ("5g\r\n", "", .invalidChunkSize),
        ("5 5\r\n", "", .invalidChunkSize),
        ("5,\r\n", "", .invalidChunkSize),
        ("5\u{0}\r\n", "", .invalidChunkSize),
        ("５\r\n", "", .invalidChunkSize),
        ("8000000000000000\r\n", "", .chunkTooLarge),
        ("FFFFFFFFFFFFFFFF\r\n", "", .chunkTooLarge),
        ("10000000000000005\r\n", "", .chunkTooLarge),
        ("5\r\rhello", "", .invalidChunkExtension),
        ("5\rhello", "", .invalidChunkExtension),
        ("5;a\r;b\r\nhello", "", .invalidChunkExtension),
        ("5;a\u{0}\r\nhello", "", .invalidChunkExtension),
        ("5;\u{7F}\r\nhello", "", .invalidChunkExtension),
        ("5\r\nhello5\r\n", "hello", .missingChunkEnd),
        ("5\r\nhello\r5\r\n", "hello", .missingChunkEnd),
        ("5\r\nhello\r\r\n", "hello", .missingChunkEnd),
        ("5\r\nhello world\r\n", "hello", .missingChunkEnd),
        ("5\r\nhello\r\n\r\n", "hello", .invalidChunkSize),
        ("0\r\nno trailer\r\n\r\n", "", .spaceBeforeColon),
        ("0\r\nA: \u{0}\r\n\r\n", "", .invalidFieldValue),
        ("0\r\n A: 1\r\n\r\n", "", .foldWithoutField),
        ("0\r\nHTTP/1.1 200 OK\r\n\r\n", "", .invalidFieldName),
    ]

    @Test("A broken body is rejected after its valid part", arguments: refused)
    func rejects(text: String, content: String, error: ParseError) {
        for pieces in everySplit(of: text.bytes) {
            let outcome = body(.chunked, pieces)
            #expect(outcome.error == error)
            #expect(outcome.found.first?.content == content)
        }
    }

    @Test("The largest chunk size is accepted before its data arrive")
    func largestChunk() {
        #expect(body(.chunked, ["7FFFFFFFFFFFFFFF\r\nabc".bytes]) == Outcome(found: [Body(content: "abc")]))
    }

    static let endless: [(start: String, again: String, error: ParseError)] = [
        ("", "0", .chunkExtensionTooLarge),
        ("5", " ", .chunkExtensionTooLarge),
        ("5;", "x", .chunkExtensionTooLarge),
        ("5", ";", .chunkExtensionTooLarge),
        ("0\r\nA: ", "x", .trailersTooLarge),
        ("0\r\n", "x", .trailersTooLarge),
        ("0\r\n", "A: 1\r\n", .trailersTooLarge),
    ]

    @Test("An endless size line or trailer section fails at its limit", arguments: endless, [1, 7, 1_000])
    func endlessInput(input: (start: String, again: String, error: ParseError), pieceSize: Int) {
        let limits = HeadLimits(maximumFields: 1_000, maximumTrailerBytes: 500, maximumChunkExtensionBytes: 500)
        let endless = (input.start + String(repeating: input.again, count: 600)).bytes
        let pieces = stride(from: 0, to: endless.count, by: pieceSize).map {
            Array(endless[$0..<min(endless.count, $0 + pieceSize)])
        }
        #expect(body(.chunked, pieces, limits: limits).error == input.error)
        #expect(input.error.kind == .limitExceeded)
    }

    @Test("Extensions and trailers may be exactly as large as their limits")
    func exactLimits() {
        let limits = HeadLimits(maximumFields: 2, maximumTrailerBytes: 14, maximumChunkExtensionBytes: 3)
        for pieces in everySplit(of: "5;ab\r\nhello\r\n0;cd\r\nA: 1\r\nB: 2\r\n\r\n".bytes) {
            #expect(body(.chunked, pieces, limits: limits).found.first?.trailers == ["A": "1", "B": "2"])
        }
        for pieces in everySplit(of: "5;abc\r\n".bytes) {
            #expect(body(.chunked, pieces, limits: limits).error == .chunkExtensionTooLarge)
        }
        for pieces in everySplit(of: "0\r\nA: 1\r\nB: 23\r\n\r\n".bytes) {
            #expect(body(.chunked, pieces, limits: limits).error == .trailersTooLarge)
        }
        for pieces in everySplit(of: "0\r\nA:\r\nB:\r\nC:\r\n\r\n".bytes) {
            #expect(body(.chunked, pieces, limits: limits).error == .tooManyFields)
        }
    }
}
