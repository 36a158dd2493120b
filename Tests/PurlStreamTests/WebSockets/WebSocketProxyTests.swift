import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

/// One server acts as the proxy and as the server behind it: after its response to CONNECT it reads the next request.
@Suite("WebSockets through a proxy (RFC 6455 §4.1)", .timeLimit(.minutes(5)))
struct WebSocketProxyTests {
    static let established = Reply.raw("HTTP/1.1 200 Connection established\r\n\r\n", then: .keepOpen)

    func stage(_ connect: Reply, user: [AnyHashable: Any] = [:]) async throws -> WebSocketStage {
        let proxy = try await LoopbackServer.started()
        proxy.route("chat.example:80", method: "CONNECT", connect)
        proxy.route("/ws", .webSocket())
        return try await WebSocketStage(proxy: proxy) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy, user)
        }
    }

    func open(_ stage: WebSocketStage) throws -> URLSessionWebSocketTask {
        let task = stage.session.webSocketTask(with: try #require(URL(string: "ws://chat.example/ws"))).resumed()
        return task
    }

    @Test("A CONNECT opens the tunnel, and the handshake is sent through it")
    func tunnel() async throws {
        let stage = try await stage(Self.established)
        let task = try open(stage)
        try await task.send(.string("through"))
        #expect(try await task.receive().text == "through")
        let requests = stage.server.requests
        #expect(requests.map(\.method) == ["CONNECT", "GET"])
        #expect(requests.map(\.target) == ["chat.example:80", "/ws"])
        #expect(requests.map(\.connection) == [1, 1])
        #expect(requests.map { $0.fields["Host"] } == ["chat.example:80", "chat.example"])
        #expect(requests[0].fields["Upgrade"] == nil)
        #expect(requests[0].fields["Sec-WebSocket-Key"] == nil)
    }

    @Test("A 407 to CONNECT is answered, and the server does not receive Proxy-Authorization")
    func authentication() async throws {
        let door = Reply.computed { request in
            if request.fields["Proxy-Authorization"] == ProtectedResource.basic { return Self.established }
            return Reply.status(407).field("Proxy-Authenticate", Proxy.basicChallenge)
        }
        let stage = try await stage(
            door, user: ["HTTPProxyUsername": "me", "HTTPProxyPassword": "secret"])
        let task = try open(stage)
        try await task.sendPing()
        let requests = stage.server.requests
        #expect(requests.map(\.method) == ["CONNECT", "CONNECT", "GET"])
        #expect(requests[2].fields["Proxy-Authorization"] == nil)
    }

    @Test("A refused CONNECT fails the handshake", arguments: [403, 502])
    func refusal(status: Int) async throws {
        let stage = try await stage(.status(status))
        let task = try open(stage)
        await #expect(errorCode { _ = try await task.receive() } == .cannotConnectToHost)
    }
}
