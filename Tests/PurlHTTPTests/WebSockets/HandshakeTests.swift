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

    @Test("The RFC's examples are accepted")
    func examples() {
        #expect(client().handshake.key == "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == Self.sampleAccept)
    }

    @Test("A request carries the fields of the handshake")
    func request() {
        let head = client(["Upgrade": "h2c", "Connection": "close"], protocols: ["chat", "superchat"]).head
        #expect(head.fields.values(of: .upgrade) == ["websocket"])
        #expect(head.fields.values(of: .connection) == ["Upgrade"])
        #expect(head.fields.values(of: .secWebSocketKey) == ["dGhlIHNhbXBsZSBub25jZQ=="])
        #expect(head.fields.values(of: .secWebSocketVersion) == ["13"])
        #expect(head.fields.values(of: .secWebSocketProtocol) == ["chat, superchat"])
        #expect(head.fields.values(of: .secWebSocketExtensions) == ["permessage-deflate; client_max_window_bits"])
    }

    @Test("The user's own extensions take precedence, and an empty field means none")
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

    @Test("A response is accepted in any case and among other elements")
    func validResponses() throws {
        #expect(try client().handshake.check(response()) == WebSocketHandshake.Agreement())
        let strange = response {
            $0[.upgrade] = "WebSocket"
            $0[.connection] = "keep-alive, UPGRADE"
        }
        #expect(try client().handshake.check(strange) == WebSocketHandshake.Agreement())
    }

    static let invalidResponses: [(FieldName, String?, WebSocketHandshakeError)] = [
        (.upgrade, nil, .upgradeMissing),
        (.upgrade, "h2c", .upgradeMissing),
        (.connection, nil, .connectionMissing),
        (.connection, "close", .connectionMissing),
        (.secWebSocketAccept, nil, .wrongAccept),
        (.secWebSocketAccept, "", .wrongAccept),
        (.secWebSocketAccept, "S3PPLMBITXAQ9KYGZZHZRBK+XOO=", .wrongAccept),
        (.secWebSocketProtocol, "other", .unrequestedProtocol("other")),
        (.secWebSocketProtocol, "CHAT", .unrequestedProtocol("CHAT")),
        (.secWebSocketProtocol, "chat, chat2", .unrequestedProtocol("chat, chat2")),
        (.secWebSocketExtensions, "x-other", .unofferedExtension("x-other")),
        (
            .secWebSocketExtensions, "permessage-deflate, permessage-deflate",
            .unofferedExtension("permessage-deflate, permessage-deflate")
        ),
        (.secWebSocketExtensions, "permessage-deflate; =", .invalidExtension("permessage-deflate; =")),
        (.secWebSocketExtensions, "permessage-deflate; x", .invalidExtension("permessage-deflate; x")),
    ]

    @Test("A response that breaks a rule is rejected", arguments: invalidResponses)
    func rejects(name: FieldName, value: String?, error: WebSocketHandshakeError) {
        let handshake = client(protocols: ["chat", "chat2"]).handshake
        #expect(throws: error) { try handshake.check(response { $0[name] = value }) }
        #expect(!error.description.isEmpty)
    }

    @Test("A requested subprotocol is accepted, also one in the user's own field")
    func subprotocols() throws {
        let chosen = response { $0[.secWebSocketProtocol] = "chat2" }
        #expect(try client(protocols: ["chat", "chat2"]).handshake.check(chosen).subprotocol == "chat2")
        let own = client(["Sec-WebSocket-Protocol": "chat2,chat3"]).handshake
        #expect(try own.check(chosen).subprotocol == "chat2")
    }

    @Test("Compression that was not offered is rejected")
    func unofferedCompression() {
        let handshake = client(["Sec-WebSocket-Extensions": ""]).handshake
        let answer = response { $0[.secWebSocketExtensions] = "permessage-deflate" }
        #expect(throws: WebSocketHandshakeError.unofferedExtension("permessage-deflate")) {
            try handshake.check(answer)
        }
    }

    // MARK: The server

    @Test("A client accepts a server's response")
    func bothSides() throws {
        let (handshake, head) = client(protocols: ["a", "b"])
        let plain = try WebSocketHandshake.response(to: head, protocols: ["x"])
        #expect(plain.agreement == WebSocketHandshake.Agreement())
        #expect(try handshake.check(plain.head) == plain.agreement)
        let full = try WebSocketHandshake.response(to: head, protocols: ["b", "a"], compression: PermessageDeflate())
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

    @Test("A request that is not a handshake is rejected", arguments: badRequests)
    func badRequest(name: FieldName, value: String?, error: WebSocketHandshakeError) {
        var head = client().head
        head.fields[name] = value
        #expect(throws: error) { try WebSocketHandshake.response(to: head) }
        head = client().head
        head.method = "POST"
        #expect(throws: WebSocketHandshakeError.notGET) { try WebSocketHandshake.response(to: head) }
    }
}
