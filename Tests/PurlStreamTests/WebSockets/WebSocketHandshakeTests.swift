import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The WebSocket handshake", .timeLimit(.minutes(5)))
struct WebSocketHandshakeTests {
    @Test("The handshake request has exactly these bytes")
    func wire() async throws {
        let stage = try await WebSocketStage { $0.httpAdditionalHeaders = ["X-Session": "s", "Upgrade": "h2c"] }
        var request = URLRequest(url: try stage.url("/ws?q=1"))
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        request.setValue("own", forHTTPHeaderField: "X-Own")
        request.setValue("http://origin.example", forHTTPHeaderField: "Origin")
        let task = stage.session.webSocketTask(with: request)
        task.taskDescription = "mine"
        task.resume()
        await stage.witness.opening()
        let seen = try #require(stage.server.requests.first)
        #expect(seen.method == "GET")
        #expect(seen.target == "/ws?q=1")
        #expect(seen.body.isEmpty)
        #expect(seen.fields["Host"] == "127.0.0.1:\(stage.server.port)")
        #expect(seen.fields.values("Upgrade") == ["websocket"])
        #expect(seen.fields.values("Connection") == ["Upgrade"])
        #expect(seen.fields["Sec-WebSocket-Version"] == "13")
        #expect(seen.fields["Sec-WebSocket-Key"].flatMap { Data(base64Encoded: $0) }?.count == 16)
        #expect(seen.fields["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits")
        #expect(seen.fields["Sec-WebSocket-Protocol"] == nil)
        #expect(seen.fields["Content-Length"] == nil)
        #expect(seen.fields["X-Own"] == "own")
        #expect(seen.fields["X-Session"] == "s")
        #expect(seen.fields["Origin"] == "http://origin.example")
        #expect(task.taskDescription == "mine")
        #expect(task.currentRequest?.value(forHTTPHeaderField: "Sec-WebSocket-Version") == "13")
    }

    @Test("Every handshake has a new key")
    func keys() async throws {
        let stage = try await WebSocketStage()
        for _ in 0..<5 { _ = try stage.open() }
        let requests = await stage.server.waitForRequests(5)
        #expect(Set(requests.map { $0.fields["Sec-WebSocket-Key"] }).count == 5)
    }

    static let protocols: [([String], [String], String?)] = [
        ([], ["a"], nil), (["a"], [], nil), (["a", "b"], ["b"], "b"), (["a", "b"], ["b", "a"], "b"),
        (["x"], ["a"], nil),
    ]

    @Test("The server chooses one of the offered subprotocols, or none", arguments: protocols)
    func subprotocols(asked: [String], spoken: [String], chosen: String?) async throws {
        let stage = try await WebSocketStage(.echo.subprotocols(spoken))
        _ = try stage.open(protocols: asked)
        await stage.witness.opening()
        #expect(stage.witness.events == [.opened(chosen)])
        let field = stage.server.requests.first?.fields["Sec-WebSocket-Protocol"]
        #expect(field == (asked.isEmpty ? nil : asked.joined(separator: ", ")))
    }

    @Test(
        "The request's own Sec-WebSocket-Extensions is sent, and an empty one offers none",
        arguments: ["", "permessage-deflate"])
    func extensions(own: String) async throws {
        let stage = try await WebSocketStage(.echo.compression())
        var request = URLRequest(url: try stage.url())
        request.setValue(own, forHTTPHeaderField: "Sec-WebSocket-Extensions")
        let task = stage.session.webSocketTask(with: request).resumed()
        await stage.witness.opening()
        #expect(stage.server.requests.first?.fields["Sec-WebSocket-Extensions"] == (own.isEmpty ? nil : own))
        #expect(stage.server.webSockets.first?.isCompressed == !own.isEmpty)
        try await task.send(.string(String(repeating: "again and ", count: 50)))
        #expect(try await task.receive().text?.count == 500)
    }

    @Test("The handshake sends cookies and stores those of its response")
    func cookies() async throws {
        let stage = try await WebSocketStage()
        stage.server.route("/login", .text("in").field("Set-Cookie", "user=me; Path=/"))
        stage.server.route("/ws", .webSocket().field("Set-Cookie", "socket=1; Path=/"))
        _ = try await stage.session.data(from: stage.server.url("/login"))
        _ = try stage.open()
        await stage.witness.opening()
        #expect(stage.server.requests.last?.fields["Cookie"] == "user=me")
        _ = try stage.open()
        let requests = await stage.server.waitForRequests(3)
        #expect(requests.last?.fields["Cookie"] == "user=me; socket=1")
    }

    static let refusals: [(String, Reply, URLError.Code)] = [
        ("not found", .status(404), .badServerResponse),
        ("a page", .text("no sockets here"), .badServerResponse),
        ("busy", .status(503), .badServerResponse),
        ("a wrong key", .webSocket().replacingField("Sec-WebSocket-Accept", "AAAA"), .badServerResponse),
        ("no key", .webSocket().replacingField("Sec-WebSocket-Accept", nil), .badServerResponse),
        ("another protocol", .webSocket().replacingField("Upgrade", "h2c"), .badServerResponse),
        ("no upgrade", .webSocket().replacingField("Connection", "close"), .badServerResponse),
        ("an unrequested subprotocol", .webSocket().field("Sec-WebSocket-Protocol", "x"), .badServerResponse),
        ("an unrequested extension", .webSocket().field("Sec-WebSocket-Extensions", "x-y"), .badServerResponse),
        (
            "an unknown parameter",
            .webSocket().field("Sec-WebSocket-Extensions", "permessage-deflate; more"), .badServerResponse
        ),
        ("no HTTP", .raw("hello\r\n\r\n"), .badServerResponse),
        ("nothing", .raw(""), .networkConnectionLost),
    ]

    @Test("A refused or invalid handshake fails", arguments: refusals)
    func refused(name: String, reply: Reply, code: URLError.Code) async throws {
        let stage = try await WebSocketStage()
        stage.server.route("/refused", reply)
        let task = try stage.open("/refused")
        await #expect(errorCode { _ = try await task.receive() } == code)
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(code))
        #expect(!stage.witness.events.contains(.opened(nil)))
        #expect(stage.witness.error?.failingURL == (try stage.url("/refused")))
        #expect(stage.witness.error?.failureSentence.isEmpty == false)
        if name == "not found" { #expect((task.response as? HTTPURLResponse)?.statusCode == 404) }
        stage.session.finishTasksAndInvalidate()
        await stage.server.waitUntilDisconnected()
    }

    static let urls: [(String, URLError.Code)] = [
        ("wss://127.0.0.1/", .unsupportedURL), ("https://127.0.0.1/", .unsupportedURL),
        ("ftp://127.0.0.1/", .unsupportedURL),
        ("data:,hello", .unsupportedURL), ("ws:///nowhere", .badURL), ("ws://127.0.0.1:99999/", .badURL),
    ]

    @Test("webSocketTask(with:) takes an http: URL as a ws: one")
    func httpURL() async throws {
        let stage = try await WebSocketStage()
        let url = stage.server.url("/ws")
        let tasks = [
            stage.session.webSocketTask(with: url), stage.session.webSocketTask(with: URLRequest(url: url)),
            stage.session.webSocketTask(with: url, protocols: ["chat"]),
        ]
        for task in tasks {
            task.resume()
            try await task.send(.string("hello"))
            #expect(try await task.receive().text == "hello")
            #expect(task.originalRequest?.url == url)
        }
        // All handshakes are made with one server, one at a time, by the rules for ws:.
        #expect(stage.server.requests.allSatisfy { $0.fields["Upgrade"] == "websocket" })
    }

    @Test("A WebSocket task fails for any URL but a ws: or an http: one", arguments: urls)
    func unsupported(text: String, code: URLError.Code) async throws {
        let stage = try await WebSocketStage()
        let task = stage.session.webSocketTask(with: try #require(URL(string: text))).resumed()
        await #expect(errorCode { _ = try await task.receive() } == code)
        await stage.witness.completion()
        if text.hasPrefix("wss") || text.hasPrefix("https") {
            #expect(stage.witness.error?.failureSentence.contains("TLS") == true)
        }
    }

    @Test("A data task cannot load a ws: URL")
    func dataTask() async throws {
        let stage = try await WebSocketStage()
        await #expect(errorCode { _ = try await stage.session.data(from: stage.url()) } == .unsupportedURL)
        #expect(stage.server.requests.isEmpty)
    }

    @Test("A data task fails with an unrequested 101")
    func unaskedUpgrade() async throws {
        let stage = try await WebSocketStage()
        stage.server.route("/switch", .raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"))
        await #expect(
            errorCode { _ = try await stage.session.data(from: stage.server.url("/switch")) } == .badServerResponse)
    }

    @Test("Redirects lead to another handshake", arguments: ["/ws", "ws", "http"])
    func redirects(form: String) async throws {
        let stage = try await WebSocketStage()
        let target = try stage.url().absoluteString
        let location =
            switch form {
            case "ws": target
            case "http": "http" + target.dropFirst(2)
            default: form
            }
        stage.server.route("/moved", .redirect(307, to: location))
        let task = try stage.open("/moved")
        try await task.send(.string("found"))
        #expect(try await task.receive().text == "found")
        // receive() does not wait for the delegate queue.
        await stage.witness.opening()
        #expect(stage.witness.events == [.redirect(307, to: target), .opened(nil)])
        #expect(task.currentRequest?.url?.absoluteString == target)
        #expect(task.originalRequest?.url == (try stage.url("/moved")))
    }

    @Test("A redirect to wss: fails")
    func redirectToTLS() async throws {
        let stage = try await WebSocketStage()
        stage.server.route("/moved", .redirect(302, to: "https://127.0.0.1/ws"))
        let task = try stage.open("/moved")
        await #expect(errorCode { _ = try await task.receive() } == .unsupportedURL)
    }

    @Test("A 401 is answered, and the handshake repeated on the same connection")
    func authentication() async throws {
        let credential = URLCredential(user: "me", password: "secret", persistence: .forSession)
        let stage = try await WebSocketStage(credential: credential)
        let door = "Basic " + Data("me:secret".utf8).base64EncodedString()
        stage.server.route(
            "/private",
            .computed { request in
                if request.fields["Authorization"] == door { return .webSocket() }
                return Reply.status(401).field("WWW-Authenticate", "Basic realm=\"club\"")
            })
        let task = try stage.open("/private")
        try await task.send(.string("let in"))
        #expect(try await task.receive().text == "let in")
        await stage.witness.opening()
        #expect(stage.witness.events == [.challenge("club"), .opened(nil)])
        #expect(stage.server.requests.map(\.connection) == [1, 1])
        // The accepted credential is used for the next handshake.
        let next = try stage.open("/private")
        try await next.sendPing()
        #expect(stage.server.requests.count == 3)
    }

    @Test("Without a credential a 401 fails the handshake")
    func unauthenticated() async throws {
        let stage = try await WebSocketStage()
        stage.server.route("/private", .status(401).field("WWW-Authenticate", "Basic realm=\"club\""))
        let task = try stage.open("/private")
        await #expect(errorCode { _ = try await task.receive() } == .badServerResponse)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 401)
    }

    @Test("A handshake without a response times out after timeoutIntervalForRequest")
    func stalled() throws {
        try Simulation(1).run { world in
            let stage = try await WebSocketStage(in: world) { $0.timeoutIntervalForRequest = 20 }
            stage.server.route("/stalled", .status(200).stalled(at: .beforeHead))
            let task = try stage.open("/stalled")
            await #expect(errorCode { _ = try await task.receive() } == .timedOut)
            #expect(world.elapsed < .seconds(21))
        }
    }

    @Test("One handshake at a time is made to a server, and open WebSockets do not count as connections")
    func oneAtATime() async throws {
        let gate = ServerGate()
        let stage = try await WebSocketStage { $0.httpMaximumConnectionsPerHost = 2 }
        stage.server.route(
            "/slow",
            .computed { _ in
                await gate.reached()
                return .webSocket()
            })
        stage.server.route("/gate", .status(200).stalled(at: .beforeHead, until: gate))
        let slow = try stage.open("/slow")
        let others = try (0..<5).map { _ in try stage.open() }
        await stage.server.wait { $0.requests.count == 1 }
        #expect(stage.server.acceptedConnections == 1)
        // Other transfers have their own connections.
        async let opener = stage.session.data(from: stage.server.url("/gate"))
        try await slow.sendPing()
        for task in others { try await task.sendPing() }
        #expect(stage.server.openConnections == 7)
        gate.open()
        _ = try await opener
    }

    @Test("Metrics have the transaction of the handshake")
    func metrics() async throws {
        let stage = try await WebSocketStage(.echo)
        let task = try stage.open()
        try await task.send(.string("12345"))
        _ = try await task.receive()
        task.cancel(with: .normalClosure, reason: nil)
        await stage.witness.completion()
        let transaction = try #require(stage.witness.metrics.last?.transactionMetrics.first)
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 101)
        #expect(transaction.request.url?.scheme == "ws")
        #expect(transaction.connectStartDate != nil)
        #expect(transaction.requestStartDate != nil)
        #expect(transaction.responseStartDate != nil)
        #expect(transaction.remotePort == "\(stage.server.port)")
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 5)
    }
}
