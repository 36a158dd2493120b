import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Streams through a proxy", .timeLimit(.minutes(5)))
struct StreamProxyTests {
    func stage(_ connect: Reply, user: [AnyHashable: Any] = [:]) async throws -> (StreamStage, LoopbackServer) {
        let proxy = try await LoopbackServer.started()
        proxy.route("mail.example:25", method: "CONNECT", connect)
        let stage = try await StreamStage { $0.connectionProxyDictionary = Proxy.dictionary(proxy, user) }
        return (stage, proxy)
    }

    @Test("A CONNECT opens the tunnel, and bytes after its response are the stream's first")
    func tunnel() async throws {
        let (stage, proxy) = try await stage(
            .stream(.echo, after: "HTTP/1.1 200 Connection established\r\n\r\n220 ready\r\n"))
        let task = stage.session.streamTask(withHostName: "mail.example", port: 25).resumed()
        #expect(try await task.text(11) == "220 ready\r\n")
        try await task.write("through")
        #expect(try await task.text(7) == "through")
        #expect(proxy.requests.map(\.target) == ["mail.example:25"])
        #expect(proxy.requests.first?.fields["Host"] == "mail.example:25")
        #expect(stage.server.acceptedConnections == 0)
    }

    @Test("A 407 to CONNECT is answered")
    func authentication() async throws {
        let door = Reply.computed { request in
            if request.fields["Proxy-Authorization"] == ProtectedResource.basic { return .stream(status: 200) }
            return Reply.status(407).field("Proxy-Authenticate", Proxy.basicChallenge)
        }
        let (stage, proxy) = try await stage(
            door, user: ["HTTPProxyUsername": "me", "HTTPProxyPassword": "secret"])
        let task = stage.session.streamTask(withHostName: "mail.example", port: 25).resumed()
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT"])
    }

    @Test("A 101 to CONNECT is an error")
    func switching() async throws {
        let (stage, proxy) = try await stage(
            .stream(.echo, after: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: upgrade\r\n\r\n"))
        let task = stage.session.streamTask(withHostName: "mail.example", port: 25).resumed()
        await #expect(errorCode { try await task.write("through") } == .cannotConnectToHost)
        #expect(proxy.requests.map(\.method) == ["CONNECT"])
    }

    @Test("A refused CONNECT is an error", arguments: [403, 502])
    func refusal(status: Int) async throws {
        let (stage, proxy) = try await stage(.status(status))
        let task = stage.session.streamTask(withHostName: "mail.example", port: 25).resumed()
        await #expect(errorCode { _ = try await task.text(1) } == .cannotConnectToHost)
        await stage.witness.completion()
        #expect(stage.witness.error?.failureSentence.contains("\(status)") == true)
        #expect(proxy.requests.map(\.method) == ["CONNECT"])
    }
}
