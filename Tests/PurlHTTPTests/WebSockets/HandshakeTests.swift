import PurlHTTP
import Testing

@Suite("The opening handshake (RFC 6455 §4)")
struct HandshakeTests {
    static let nonce = "the sample nonce".bytes
    static let sampleAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    func client(
        _ fields: HeaderFields = [:], protocols: [String] = []
    ) -> (handshake: WebSocketHandshake, head: RequestHead) {
        var head = RequestHead(method: "GET", target: "/chat", fields: fields)
        head.fields.append(.host, "localhost")
        if !protocols.isEmpty { head.fields[.secWebSocketProtocol] = protocols.joined(separator: ", ") }
        let handshake = WebSocketHandshake(nonce: Self.nonce, addingTo: &head)
        return (handshake, head)
    }

    @Test("The examples of the rule")
    func examples() {
        #expect(client().handshake.key == "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == Self.sampleAccept)
    }

    @Test("What a client asks")
    func request() {
        let head = client(["Upgrade": "h2c", "Connection": "close"], protocols: ["chat", "superchat"]).head
        #expect(head.fields.values(of: .upgrade) == ["websocket"])
        #expect(head.fields.values(of: .connection) == ["Upgrade"])
        #expect(head.fields.values(of: .secWebSocketKey) == ["dGhlIHNhbXBsZSBub25jZQ=="])
        #expect(head.fields.values(of: .secWebSocketVersion) == ["13"])
        #expect(head.fields.values(of: .secWebSocketProtocol) == ["chat, superchat"])
        #expect(head.fields.values(of: .secWebSocketExtensions) == ["permessage-deflate; client_max_window_bits"])
    }

    @Test("The user's own extensions rule, and none means none")
    func ownExtensions() {
        let own = "permessage-deflate; server_no_context_takeover"
        #expect(client(["Sec-WebSocket-Extensions": own]).head.fields[.secWebSocketExtensions] == own)
        #expect(client(["Sec-WebSocket-Extensions": ""]).head.fields[.secWebSocketExtensions] == nil)
    }

    func response(_ change: (inout HeaderFields) -> Void = { _ in }) -> ResponseHead {
        var fields: HeaderFields = [
            .upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: Self.sampleAccept,
        ]
        change(&fields)
        return ResponseHead(status: 101, fields: fields)
    }

    @Test("An answer in any case, among other things")
    func goodAnswers() throws {
        #expect(try client().handshake.check(response()) == WebSocketHandshake.Agreement())
        let strange = response {
            $0[.upgrade] = "WebSocket"
            $0[.connection] = "keep-alive, UPGRADE"
        }
        #expect(try client().handshake.check(strange) == WebSocketHandshake.Agreement())
    }

    static let badAnswers: [(FieldName, String?, WebSocketHandshakeError)] = [
        (.upgrade, nil, .upgradeMissing),
        (.upgrade, "h2c", .upgradeMissing),
        (.connection, nil, .connectionMissing),
        (.connection, "close", .connectionMissing),
        (.secWebSocketAccept, nil, .wrongAccept),
        (.secWebSocketAccept, "", .wrongAccept),
        (.secWebSocketAccept, "S3PPLMBITXAQ9KYGZZHZRBK+XOO=", .wrongAccept),
        (.secWebSocketProtocol, "other", .unaskedProtocol("other")),
        (.secWebSocketProtocol, "CHAT", .unaskedProtocol("CHAT")),
        (.secWebSocketProtocol, "chat, chat2", .unaskedProtocol("chat, chat2")),
        (.secWebSocketExtensions, "x-other", .unaskedExtension("x-other")),
        (
            .secWebSocketExtensions, "permessage-deflate, permessage-deflate",
            .unaskedExtension("permessage-deflate, permessage-deflate")
        ),
        (.secWebSocketExtensions, "permessage-deflate; =", .badExtension("permessage-deflate; =")),
        (.secWebSocketExtensions, "permessage-deflate; x", .badExtension("permessage-deflate; x")),
    ]

    @Test("Answers that are none", arguments: badAnswers)
    func refusals(name: FieldName, value: String?, error: WebSocketHandshakeError) {
        let handshake = client(protocols: ["chat", "chat2"]).handshake
        #expect(throws: error) { try handshake.check(response { $0[name] = value }) }
        #expect(!error.description.isEmpty)
    }

    @Test("One of the subprotocols asked for, also where the user wrote the field himself")
    func subprotocols() throws {
        let chosen = response { $0[.secWebSocketProtocol] = "chat2" }
        #expect(try client(protocols: ["chat", "chat2"]).handshake.check(chosen).subprotocol == "chat2")
        let own = client(["Sec-WebSocket-Protocol": "chat2,chat3"]).handshake
        #expect(try own.check(chosen).subprotocol == "chat2")
    }

    @Test("Compression that nobody offered is refused")
    func unaskedCompression() {
        let handshake = client(["Sec-WebSocket-Extensions": ""]).handshake
        let answer = response { $0[.secWebSocketExtensions] = "permessage-deflate" }
        #expect(throws: WebSocketHandshakeError.unaskedExtension("permessage-deflate")) { try handshake.check(answer) }
    }

    // MARK: The server

    @Test("A server's answer is one that the client takes")
    func bothSides() throws {
        let (handshake, head) = client(protocols: ["a", "b"])
        let plain = try WebSocketHandshake.answer(head, protocols: ["x"])
        #expect(plain.agreement == WebSocketHandshake.Agreement())
        #expect(try handshake.check(plain.head) == plain.agreement)
        let full = try WebSocketHandshake.answer(head, protocols: ["b", "a"], compression: PermessageDeflate())
        #expect(
            full.agreement == WebSocketHandshake.Agreement(subprotocol: "b", compression: PermessageDeflate()))
        #expect(try handshake.check(full.head) == full.agreement)
    }

    static let badRequests: [(FieldName, String?, WebSocketHandshakeError)] = [
        (.upgrade, nil, .upgradeMissing),
        (.connection, "keep-alive", .connectionMissing),
        (.secWebSocketVersion, "8", .wrongVersion),
        (.secWebSocketVersion, nil, .wrongVersion),
        (.secWebSocketKey, nil, .wrongKey),
        (.secWebSocketKey, "c2hvcnQ=", .wrongKey),
    ]

    @Test("Requests that are no handshakes", arguments: badRequests)
    func badRequest(name: FieldName, value: String?, error: WebSocketHandshakeError) {
        var head = client().head
        head.fields[name] = value
        #expect(throws: error) { try WebSocketHandshake.answer(head) }
        head = client().head
        head.method = "POST"
        #expect(throws: WebSocketHandshakeError.notGET) { try WebSocketHandshake.answer(head) }
    }
}
