import PurlHTTP
import Testing

@Suite("Request heads")
struct RequestHeadParserTests {
    static let accepted: [(String, RequestHead)] = [
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            RequestHead(method: "GET", target: "/", fields: ["Host": "a"])
        ),
        ("POST /a?b=c%20d HTTP/1.0\r\n\r\n", RequestHead(method: "POST", target: "/a?b=c%20d", version: .http1_0)),
        ("OPTIONS * HTTP/1.1\r\n\r\n", RequestHead(method: "OPTIONS", target: "*")),
        ("CONNECT a:443 HTTP/1.1\r\n\r\n", RequestHead(method: "CONNECT", target: "a:443")),
        ("GET http://a/b HTTP/1.1\r\n\r\n", RequestHead(method: "GET", target: "http://a/b")),
        ("X-Y! / HTTP/1.7\n\n", RequestHead(method: "X-Y!", target: "/")),
        ("\r\nGET / HTTP/1.1\r\n\r\n", RequestHead(method: "GET", target: "/")),
    ]

    @Test("A valid head is read", arguments: accepted)
    func accepts(text: String, head: RequestHead) {
        for pieces in everySplit(of: text.bytes) {
            #expect(requestHeads(pieces) == Outcome(found: [head]))
        }
    }

    static let refused: [(String, ParseError)] = [
        ("GET\r\n\r\n", .malformedStartLine),
        ("GET /\r\n\r\n", .malformedStartLine),
        (" GET / HTTP/1.1\r\n\r\n", .invalidMethod),
        ("G(T / HTTP/1.1\r\n\r\n", .invalidMethod),
        ("GET\t/ HTTP/1.1\r\n\r\n", .invalidMethod),
        ("GET  / HTTP/1.1\r\n\r\n", .invalidTarget),
        ("GET /\u{0} HTTP/1.1\r\n\r\n", .invalidTarget),
        ("GET /\r HTTP/1.1\r\n\r\n", .invalidTarget),
        ("GET /ä HTTP/1.1\r\n\r\n", .invalidTarget),
        ("GET / b HTTP/1.1\r\n\r\n", .malformedVersion),
        ("GET / HTTP/1.1 \r\n\r\n", .malformedVersion),
        ("GET / HTTP/1.10\r\n\r\n", .malformedVersion),
        ("GET / \r\n\r\n", .malformedVersion),
        ("GET / HTTQ/1.1\r\n\r\n", .malformedStartLine),
        ("GET / HTTP/1-1\r\n\r\n", .malformedVersion),
        ("GET / HTTP/2.0\r\n\r\n", .unsupportedVersion),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", .spaceBeforeColon),
        ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", .invalidFieldValue),
    ]

    @Test("A broken head is rejected", arguments: refused)
    func rejects(text: String, error: ParseError) {
        for pieces in everySplit(of: text.bytes) {
            #expect(requestHeads(pieces) == Outcome(error: error))
        }
    }

    @Test("Pipelined requests are read one by one")
    func pipelined() {
        let text = "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"
        for pieces in everySplit(of: text.bytes) {
            #expect(requestHeads(pieces).found.map(\.target) == ["/1", "/2"])
        }
    }
}
