import Foundation
import PurlTesting
import Testing

@Suite("A server's lifetime")
struct ServerLifetimeTests {
    @Test(
        "A server listens on every transport",
        arguments: [LoopbackServer.Transport.ipv4, .ipv6, .unix(path: "/tmp/\(UUID()).sock")])
    func transports(_ transport: LoopbackServer.Transport) async throws {
        let server = try LoopbackServer(transport)
        server.route("/a", .text("here"))
        let client = try RawClient(to: server)
        await client.get("/a")
        #expect(String(await client.readResponse().body) == "here")
        switch transport {
        case .ipv4: #expect(server.url("/a?b=c").absoluteString == "http://127.0.0.1:\(server.port)/a?b=c")
        case .ipv6: #expect(server.url.absoluteString == "http://[::1]:\(server.port)/")
        case .memory: #expect(server.url.absoluteString == "http://in-memory.test:\(server.port)/")
        case .unix(let path):
            #expect(server.unixSocketPath == path)
            #expect(server.url.scheme == "http+unix")
            #expect(server.url.host(percentEncoded: false) == path)
            server.stop()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("A server can start without blocking a thread")
    func asynchronousStart() async throws {
        let server = try await LoopbackServer.started()
        let client = try RawClient(to: server)
        await client.get("/nothing")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test("A stopped server closes its connections and refuses new ones, and its port is free again")
    func stopping() async throws {
        let server = try LoopbackServer()
        server.route("/", .text("abc").stalled(afterBytes: 1))
        let client = try RawClient(to: server)
        await client.get("/")
        _ = await client.readHead()
        server.stop()
        server.stop()
        #expect(server.openConnections == 0)
        #expect(server.requests.map(\.ending) == [.serverStopped])
        _ = await client.readToEnd()
        #expect(throws: POSIXError(.ECONNREFUSED)) { try RawClient(to: server) }
        let next = try LoopbackServer(port: server.port)
        #expect(next.port == server.port)
        _ = try RawClient(to: next)
    }

    @Test("A released server closes its connections")
    func releasing() async throws {
        var server: LoopbackServer? = try LoopbackServer()
        let client = try RawClient(to: #require(server))
        server = nil
        #expect(await client.readToEnd().data.isEmpty)
    }

    @Test("closeConnections closes connections, and the server continues to listen")
    func closingConnections() async throws {
        let server = try LoopbackServer()
        let first = try RawClient(to: server)
        await first.get("/")
        _ = await first.readResponse()
        server.closeConnections()
        #expect(await first.readToEnd().data.isEmpty)
        let second = try RawClient(to: server)
        await second.get("/")
        #expect(await second.readHead().hasPrefix("HTTP/1.1 404 "))
        #expect(server.acceptedConnections == 2)
    }

    @Test("A port in use is an error")
    func portInUse() throws {
        let server = try LoopbackServer()
        #expect { try LoopbackServer(port: server.port) } throws: { error in
            (error as? LoopbackServer.StartError)?.code == EADDRINUSE
        }
    }
}
