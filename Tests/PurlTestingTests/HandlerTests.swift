import Foundation
import PurlTesting
import Testing

private struct HandlerError: Error {}

@Suite("Handlers")
struct HandlerTests {
    @Test("A handler gets the request and may return any reply")
    func handler() async throws {
        let server = try LoopbackServer()
        server.route(
            "/",
            .computed { request in
                guard request.fields["Authorization"] == "Basic eDp5" else {
                    return Reply.status(401).field("WWW-Authenticate", "Basic realm=\"r\"")
                }
                return .sequence([.text(String(decoding: request.body, as: UTF8.self))])
            })
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readResponse().head.hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
        await client.send("POST / HTTP/1.1\r\nHost: t\r\nAuthorization: Basic eDp5\r\nContent-Length: 2\r\n\r\nhi")
        #expect(String(await client.readResponse().body) == "hi")
    }

    @Test("A handler that throws, or returns handlers without end, makes a 500")
    func errors() async throws {
        let server = try LoopbackServer()
        server.route("/error", .computed { _ in throw HandlerError() })
        @Sendable func endless(_ request: ReceivedRequest) -> Reply { .computed(endless) }
        server.route("/endless", .computed(endless))
        for path in ["/error", "/endless"] {
            let client = try RawClient(to: server)
            await client.get(path)
            #expect(await client.readResponse().head.hasPrefix("HTTP/1.1 500 Internal Server Error\r\n"))
        }
    }

    @Test("A handler is cancelled when its client leaves")
    func cancellation() async throws {
        let server = try LoopbackServer()
        let never = ServerGate()
        let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
        server.route(
            "/",
            .computed { _ in
                await never.reached()
                outcome.yield(Task.isCancelled)
                return .text("late")
            })
        var client: RawClient? = try RawClient(to: server)
        await client?.get("/")
        await server.waitForRequests(1)
        client = nil
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
        #expect(await outcomes.first { _ in true } == true)
    }
}
