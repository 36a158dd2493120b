import PurlHTTP
import Testing

@Suite("Encoding heads")
struct HeadEncodingTests {
    func encoded(_ head: RequestHead) throws(EncodeError) -> String {
        var bytes: [UInt8] = []
        try head.encode(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func encoded(_ head: ResponseHead) throws(EncodeError) -> String {
        var bytes: [UInt8] = []
        try head.encode(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A request is written byte for byte")
    func request() throws {
        var head = RequestHead(method: "GET", target: "/a?b", fields: ["Host": "h:1", "Accept": "*/*"])
        #expect(try encoded(head) == "GET /a?b HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\n\r\n")
        head.version = .http1_0
        head.fields = [:]
        #expect(try encoded(head) == "GET /a?b HTTP/1.0\r\n\r\n")
    }

    @Test("A response is written byte for byte")
    func response() throws {
        let head = ResponseHead(status: 206, fields: ["A": "1", "A": "2", "B": ""])
        #expect(try encoded(head) == "HTTP/1.1 206 Partial Content\r\nA: 1\r\nA: 2\r\nB: \r\n\r\n")
        #expect(try encoded(ResponseHead(version: .http1_0, status: 299)) == "HTTP/1.0 299 \r\n\r\n")
    }

    @Test("An encoded head is read as the same head")
    func roundTrip() throws {
        let request = RequestHead(method: "PUT", target: "*", fields: ["Host": "h", "X": "a\tb", "Y": "grün"])
        #expect(requestHeads([try encoded(request).bytes]) == Outcome(found: [request]))
        let response = ResponseHead(status: 418, reason: "I'm a teapot", fields: ["A": "", "B": "2"])
        #expect(responseHeads([try encoded(response).bytes]) == Outcome(found: [response]))
    }

    @Test("Encoding appends to the bytes")
    func appends() throws {
        var bytes = "before".bytes
        try RequestHead(method: "GET", target: "/").encode(into: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "beforeGET / HTTP/1.1\r\n\r\n")
    }

    static let splittingRequests: [(RequestHead, EncodeError)] = [
        (RequestHead(method: "", target: "/"), .invalidMethod),
        (RequestHead(method: "GE T", target: "/"), .invalidMethod),
        (RequestHead(method: "GET / HTTP/1.1\r\n\r\nGET", target: "/"), .invalidMethod),
        (RequestHead(method: "GÉT", target: "/"), .invalidMethod),
        (RequestHead(method: "GET", target: ""), .invalidTarget),
        (RequestHead(method: "GET", target: "/ b"), .invalidTarget),
        (RequestHead(method: "GET", target: "/\u{0}"), .invalidTarget),
        (RequestHead(method: "GET", target: "/\r\nX: y"), .invalidTarget),
        (RequestHead(method: "GET", target: "/\n"), .invalidTarget),
        (RequestHead(method: "GET", target: "/\t"), .invalidTarget),
        (RequestHead(method: "GET", target: "/ü"), .invalidTarget),
        (RequestHead(method: "GET", target: "/\u{7F}"), .invalidTarget),
        (RequestHead(method: "GET", target: "/", version: HTTPVersion(major: 2, minor: 0)), .invalidVersion),
        (RequestHead(method: "GET", target: "/", version: HTTPVersion(major: -1, minor: 0)), .invalidVersion),
        (RequestHead(method: "GET", target: "/", fields: ["": "1"]), .invalidFieldName("")),
        (RequestHead(method: "GET", target: "/", fields: ["A ": "1"]), .invalidFieldName("A ")),
        (RequestHead(method: "GET", target: "/", fields: ["A:": "1"]), .invalidFieldName("A:")),
        (RequestHead(method: "GET", target: "/", fields: ["A\r\nB": "1"]), .invalidFieldName("A\r\nB")),
        (RequestHead(method: "GET", target: "/", fields: ["Ä": "1"]), .invalidFieldName("Ä")),
        (RequestHead(method: "GET", target: "/", fields: ["A": "1\r\nB: 2"]), .invalidFieldValue(name: "A")),
        (RequestHead(method: "GET", target: "/", fields: ["A": "1\n"]), .invalidFieldValue(name: "A")),
        (RequestHead(method: "GET", target: "/", fields: ["A": "1\r"]), .invalidFieldValue(name: "A")),
        (RequestHead(method: "GET", target: "/", fields: ["A": "\u{0}"]), .invalidFieldValue(name: "A")),
        (RequestHead(method: "GET", target: "/", fields: ["A": "\u{1B}"]), .invalidFieldValue(name: "A")),
        (RequestHead(method: "GET", target: "/", fields: ["A": "\u{7F}"]), .invalidFieldValue(name: "A")),
    ]

    @Test("A request that could be read as two is not encoded", arguments: splittingRequests)
    func requestSplitting(head: RequestHead, error: EncodeError) {
        var bytes = "before".bytes
        #expect(throws: error) { try head.encode(into: &bytes) }
        #expect(bytes == "before".bytes)
    }

    static let splittingResponses: [(ResponseHead, EncodeError)] = [
        (ResponseHead(status: 99), .invalidStatus),
        (ResponseHead(status: 1_000), .invalidStatus),
        (ResponseHead(status: -1), .invalidStatus),
        (ResponseHead(status: 200, reason: "OK\r\nX: y"), .invalidReason),
        (ResponseHead(status: 200, reason: "\u{0}"), .invalidReason),
        (ResponseHead(version: HTTPVersion(major: 1, minor: 2), status: 200), .invalidVersion),
        (ResponseHead(status: 200, fields: ["A": "\r\n\r\n<html>"]), .invalidFieldValue(name: "A")),
    ]

    @Test("A response that could be read as two is not encoded", arguments: splittingResponses)
    func responseSplitting(head: ResponseHead, error: EncodeError) {
        var bytes = "before".bytes
        #expect(throws: error) { try head.encode(into: &bytes) }
        #expect(bytes == "before".bytes)
    }

    @Test("Each error has a sentence of its own")
    func descriptions() {
        let errors: [EncodeError] = [
            .invalidMethod, .invalidTarget, .invalidStatus, .invalidReason, .invalidVersion, .invalidFieldName("\n"),
            .invalidFieldValue(name: "A"), .contentOfTrace, .tunnel,
        ]
        for error in errors {
            #expect(error.description.hasSuffix("."))
            #expect(!error.description.contains("\n"))
        }
    }
}
