import PurlHTTP
import Testing

@Suite("Response heads")
struct ResponseHeadParserTests {
    static let accepted: [(String, ResponseHead)] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            ResponseHead(status: 200, fields: ["Content-Length": "5"])
        ),
        ("HTTP/1.0 404 Not Found\r\n\r\n", ResponseHead(version: .http1_0, status: 404)),
        ("HTTP/1.9 200 OK\r\n\r\n", ResponseHead(version: .http1_1, status: 200)),
        ("HTTP/1.1 200\r\n\r\n", ResponseHead(status: 200, reason: "")),
        ("HTTP/1.1 200 \r\n\r\n", ResponseHead(status: 200, reason: "")),
        ("HTTP/1.1 299 Quite\tfine so far\r\n\r\n", ResponseHead(status: 299, reason: "Quite\tfine so far")),
        ("HTTP/1.1 999 \r\n\r\n", ResponseHead(status: 999, reason: "")),
        ("HTTP/1.1 200 Schön\r\n\r\n", ResponseHead(status: 200, reason: "Schön")),
        ("\r\n\n\r\nHTTP/1.1 200 OK\r\n\r\n", ResponseHead(status: 200)),
        ("HTTP/1.1 200 OK\nA: 1\nB: 2\n\n", ResponseHead(status: 200, fields: ["A": "1", "B": "2"])),
        ("HTTP/1.1 200 OK\r\nA:1\r\nB:   2 \t \r\n\r\n", ResponseHead(status: 200, fields: ["A": "1", "B": "2"])),
        ("HTTP/1.1 200 OK\r\nA:\r\nB: \r\n\r\n", ResponseHead(status: 200, fields: ["A": "", "B": ""])),
        ("HTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\n\r\n", ResponseHead(status: 200, fields: ["A": "1", "a": "2"])),
        ("HTTP/1.1 200 OK\r\nA: x:y, z\r\n\r\n", ResponseHead(status: 200, fields: ["A": "x:y, z"])),
        (
            "HTTP/1.1 200 OK\r\n!#$%&'*+-.^_`|~09azAZ: 1\r\n\r\n",
            ResponseHead(status: 200, fields: ["!#$%&'*+-.^_`|~09azAZ": "1"])
        ),
        // obs-fold
        ("HTTP/1.1 200 OK\r\nA: 1\r\n  2\r\n\t3\r\n\r\n", ResponseHead(status: 200, fields: ["A": "1 2 3"])),
        ("HTTP/1.1 200 OK\r\nA:\r\n 1\r\nB: 2\r\n\r\n", ResponseHead(status: 200, fields: ["A": "1", "B": "2"])),
        ("HTTP/1.1 200 OK\r\nA: 1\r\n \r\nB: 2\r\n\r\n", ResponseHead(status: 200, fields: ["A": "1", "B": "2"])),
    ]

    @Test("A valid head is read", arguments: accepted)
    func accepts(text: String, head: ResponseHead) {
        for pieces in everySplit(of: text.bytes) {
            #expect(responseHeads(pieces) == Outcome(found: [head]))
        }
    }

    static let refused: [(String, ParseError)] = [
        ("SSH-2.0-OpenSSH_9.6\r\n", .malformedStartLine),
        ("220 mail.example ESMTP\r\n", .malformedStartLine),
        ("ICY 200 OK\r\n", .malformedStartLine),
        ("HTTP/1.1\r\n\r\n", .malformedStartLine),
        ("HTTP/1.1\t200 OK\r\n\r\n", .malformedStartLine),
        ("HTTP/11 200 OK\r\n\r\n", .malformedVersion),
        ("http/1.1 200 OK\r\n\r\n", .malformedStartLine),
        ("HTTP/1,1 200 OK\r\n\r\n", .malformedVersion),
        ("HTTP/1.x 200 OK\r\n\r\n", .malformedVersion),
        (" HTTP/1.1 200 OK\r\n\r\n", .malformedStartLine),
        ("HTTP/2.0 200 OK\r\n\r\n", .unsupportedVersion),
        ("HTTP/0.9 200 OK\r\n\r\n", .unsupportedVersion),
        ("HTTP/1.1 20 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 2000 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 2x0 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 -20 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 099 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1  200 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 200OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 \r\n\r\n", .malformedStatus),
        ("HTTP/1.1 200 O\u{0}K\r\n\r\n", .invalidReason),
        ("HTTP/1.1 200 O\rK\r\n\r\n", .invalidReason),
        ("HTTP/1.1 200 OK\r\r\n\r\n", .invalidReason),
        ("HTTP/1.1 200 OK\r\nA\r\n\r\n", .missingColon),
        ("HTTP/1.1 200 OK\r\nA : 1\r\n\r\n", .spaceBeforeColon),
        ("HTTP/1.1 200 OK\r\nA\t: 1\r\n\r\n", .spaceBeforeColon),
        ("HTTP/1.1 200 OK\r\n: 1\r\n\r\n", .invalidFieldName),
        ("HTTP/1.1 200 OK\r\nA(b): 1\r\n\r\n", .invalidFieldName),
        ("HTTP/1.1 200 OK\r\nÄ: 1\r\n\r\n", .invalidFieldName),
        ("HTTP/1.1 200 OK\r\nA\u{0}: 1\r\n\r\n", .invalidFieldName),
        ("HTTP/1.1 200 OK\r\nA: 1\r2\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\nA: 1\r\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\nA: 1\u{1}\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\nA: 1\u{B}2\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\nA: 1\u{7F}\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\nA: 1\r\n 2\u{0}\r\n\r\n", .invalidFieldValue),
        ("HTTP/1.1 200 OK\r\n A: 1\r\n\r\n", .foldWithoutField),
        ("HTTP/1.1 200 OK\r\n\t\r\n\r\n", .foldWithoutField),
    ]

    @Test("A broken head is rejected", arguments: refused)
    func rejects(text: String, error: ParseError) {
        #expect(error.kind == .malformedHead)
        for pieces in everySplit(of: text.bytes) {
            #expect(responseHeads(pieces) == Outcome(error: error))
        }
    }

    @Test("A broken line is rejected before the head is complete")
    func rejectsEarly() {
        #expect(responseHeads(["HTTP/1.1 200 OK\r\nbroken line\r\n".bytes]).error == .spaceBeforeColon)
    }

    @Test(
        "What cannot become a status line is rejected before its line ends",
        arguments: ["\0\0\u{6}\u{4}", "S", "HTTQ", "\r\nHTML", "\rH", "220 mail"])
    func rejectsWithoutLineEnd(text: String) {
        for pieces in everySplit(of: text.bytes) {
            #expect(responseHeads(pieces) == Outcome(error: .malformedStartLine))
        }
    }

    @Test(
        "What can still become a status line is waited for",
        arguments: ["", "\r", "\r\n", "\r\n\r", "H", "HTTP/", "HTTP/9"])
    func waits(text: String) {
        for pieces in everySplit(of: text.bytes) { #expect(responseHeads(pieces) == Outcome()) }
    }

    @Test("Several heads in a row are read one by one, and no byte after a head is taken")
    func severalHeads() throws {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\n"
        let heads = [ResponseHead(status: 100), ResponseHead(status: 200, fields: ["A": "1"])]
        for pieces in everySplit(of: text.bytes) {
            #expect(responseHeads(pieces) == Outcome(found: heads))
        }
        var parser = ResponseHeadParser()
        var offset = 0
        #expect(try parser.parse(text.bytes.span.bytes, from: &offset) == heads[0])
        #expect(offset == 25)
    }

    @Test("A parser starts at the given offset")
    func offsets() throws {
        let bytes = "garbageHTTP/1.1 204 No Content\r\n\r\nrest".bytes
        var parser = ResponseHeadParser()
        var offset = 7
        #expect(try parser.parse(bytes.span.bytes, from: &offset) == ResponseHead(status: 204))
        #expect(offset == bytes.count - 4)
        var beyond = bytes.count + 1
        #expect(try parser.parse(bytes.span.bytes, from: &beyond) == nil)
        var before = -1
        #expect(try parser.parse(bytes.span.bytes, from: &before) == nil)
    }

    @Test("1xx heads are interim", arguments: [(99, false), (100, true), (101, true), (199, true), (200, false)])
    func interim(status: Int, isInterim: Bool) {
        #expect(ResponseHead(status: status).isInterim == isInterim)
    }

    @Test("Field bytes that are not UTF-8 are read as Latin-1")
    func latin1() throws {
        let bytes = "HTTP/1.1 200 OK\r\nA: caf".bytes + [0xE9] + "\r\nB: café\r\n\r\n".bytes
        for pieces in everySplit(of: bytes) {
            let fields = responseHeads(pieces).found.first?.fields
            #expect(fields?["a"] == "café")
            #expect(fields?["b"] == "café")
        }
    }

    @Test(
        "A status has its standard phrase",
        arguments: [
            (100, "Continue"), (200, "OK"), (206, "Partial Content"), (304, "Not Modified"), (404, "Not Found"),
            (416, "Range Not Satisfiable"), (503, "Service Unavailable"), (299, ""), (0, ""), (-1, ""),
        ])
    func standardReason(status: Int, reason: String) {
        #expect(ResponseHead.standardReason(for: status) == reason)
        #expect(ResponseHead(status: status).reason == reason)
    }
}
