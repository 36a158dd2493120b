import PurlHTTP
import Testing

@Suite("Connection reuse (RFC 9112 §9.3)")
struct ConnectionReuseTests {
    static let responses: [(ResponseHead, BodyFraming, HeaderFields, Bool)] = [
        (ResponseHead(status: 200), .length(5), [:], true),
        (ResponseHead(status: 200), .chunked, [:], true),
        (ResponseHead(status: 204), .none, [:], true),
        (ResponseHead(status: 200), .untilClose, [:], false),
        (ResponseHead(status: 200, fields: ["Connection": "keep-alive"]), .untilClose, [:], false),
        (ResponseHead(status: 200, fields: ["Connection": "close"]), .length(5), [:], false),
        (ResponseHead(status: 200, fields: ["Connection": "TE, Close"]), .length(5), [:], false),
        (ResponseHead(status: 200, fields: ["Connection": "keep-alive, close"]), .length(5), [:], false),
        (ResponseHead(status: 200, fields: ["Connection": "closed"]), .length(5), [:], true),
        (ResponseHead(status: 200), .length(5), ["Connection": "close"], false),
        (ResponseHead(version: .http1_0, status: 200), .length(5), [:], false),
        (
            ResponseHead(version: .http1_0, status: 200, fields: ["Connection": "Keep-Alive"]), .length(5), [:], true
        ),
        (
            ResponseHead(version: .http1_0, status: 200, fields: ["Connection": "keep-alive"]), .length(5),
            ["Connection": "close"], false
        ),
        (ResponseHead(status: 101, fields: ["Connection": "upgrade"]), .none, [:], false),
    ]

    @Test("A client reuses the connection after a response as version, framing and fields allow", arguments: responses)
    func afterResponse(head: ResponseHead, framing: BodyFraming, requestFields: HeaderFields, isAllowed: Bool) {
        #expect(ConnectionReuse.isAllowed(after: head, framing: framing, requestFields: requestFields) == isAllowed)
    }

    static let requests: [(HTTPVersion, HeaderFields, Bool)] = [
        (.http1_1, [:], true),
        (.http1_1, ["Connection": "close"], false),
        (.http1_1, ["Connection": "keep-alive"], true),
        (.http1_0, [:], false),
        (.http1_0, ["Connection": "keep-alive"], true),
        (.http1_0, ["Connection": "keep-alive", "Connection": "close"], false),
    ]

    @Test("A server reuses the connection after a request as version and fields allow", arguments: requests)
    func afterRequest(version: HTTPVersion, fields: HeaderFields, isAllowed: Bool) {
        let head = RequestHead(method: "GET", target: "/", version: version, fields: fields)
        #expect(ConnectionReuse.isAllowed(after: head) == isAllowed)
    }

    static let timeouts: [(HeaderFields, Int?)] = [
        ([:], nil),
        (["Keep-Alive": "timeout=5"], 5),
        (["Keep-Alive": "max=100, Timeout = 15"], 15),
        (["Keep-Alive": "timeout=0"], 0),
        (["Keep-Alive": "timeout"], nil),
        (["Keep-Alive": "timeout="], nil),
        (["Keep-Alive": "timeout=-5"], nil),
        (["Keep-Alive": "timeout=5s"], nil),
        (["Keep-Alive": "timeout=99999999999999999999"], nil),
        (["Keep-Alive": "xtimeout=5"], nil),
    ]

    @Test("Keep-Alive gives the idle time-out in seconds", arguments: timeouts)
    func idleTimeout(fields: HeaderFields, seconds: Int?) {
        #expect(ConnectionReuse.idleTimeout(ResponseHead(status: 200, fields: fields)) == seconds)
    }
}
