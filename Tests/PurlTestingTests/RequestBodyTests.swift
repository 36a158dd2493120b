import Foundation
import PurlTesting
import Testing

@Suite("Request bodies")
struct RequestBodyTests {
    @Test(
        "A body with a length or in chunks is recorded without its framing",
        arguments: [
            "Content-Length: 5\r\n\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n",
        ])
    func bodies(_ rest: String) async throws {
        let server = try LoopbackServer()
        server.route("/", method: "PUT", .text("thanks"))
        let client = try RawClient(to: server)
        await client.send("PUT /?a=b HTTP/1.1\r\nHost: t\r\nX-One: 1\r\nx-one: 2\r\n\(rest)")
        #expect(String(await client.readResponse().body) == "thanks")
        let request = try #require(await server.waitForRequests(1).first)
        #expect(request.method == "PUT")
        #expect(request.target == "/?a=b")
        #expect(request.path == "/")
        #expect(request.query == "a=b")
        #expect(request.fields.names.prefix(3) == ["Host", "X-One", "x-one"])
        #expect(request.fields["X-ONE"] == "1, 2")
        #expect(request.fields.values("x-one") == ["1", "2"])
        #expect(String(request.body) == "hello")
        #expect(request.bodyBytesReceived == 5)
        #expect(request.isComplete)
    }

    @Test("Bytes beyond the limit are counted, not kept")
    func limit() async throws {
        let server = try LoopbackServer(maximumRecordedBody: 1_000)
        server.route("/", .text("thanks"))
        let client = try RawClient(to: server)
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 2000000\r\n\r\n")
        await client.send(GeneratedContent(size: 2_000_000).data)
        #expect(String(await client.readResponse().body) == "thanks")
        #expect(server.requests[0].bodyBytesReceived == 2_000_000)
        #expect(GeneratedContent(size: 1_000).matches(server.requests[0].body))
        #expect(server.requests[0].body.count == 1_000)
    }

    @Test("A client that expects 100 Continue gets it before it sends its body")
    func expectation() async throws {
        let server = try LoopbackServer()
        server.route("/", .echo)
        let client = try RawClient(to: server)
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(await client.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        await client.send("hi")
        #expect(String(await client.readResponse().body).hasSuffix("\r\n\r\nhi"))
    }

    @Test("A reply that ignores the expectation waits for the body")
    func ignoredExpectation() async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.text("x").ignoringExpectation())
        let client = try RawClient(to: server)
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        await server.wait { !$0.requests.isEmpty }
        await client.send("hi")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test("A response before the body closes the connection")
    func beforeBody() async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.status(413).beforeBody())
        let client = try RawClient(to: server)
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\nabc")
        let text = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        #expect(await client.readTextToEnd() == text)
        let requests = await server.waitUntilIdle()
        #expect(requests.map(\.ending) == [.complete])
        #expect(requests.map(\.isComplete) == [false])
    }

    @Test("A body is not read until its gate opens")
    func heldBody() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/", Reply.text("x").takingBody(after: gate))
        let client = try RawClient(to: server)
        let size = 32 << 20
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: \(size)\r\n\r\n")
        async let sent = client.send(GeneratedContent(size: size).data)
        await gate.reached()
        #expect(server.requests[0].bodyBytesReceived == 0)
        gate.open()
        #expect(await sent)
        #expect(String(await client.readResponse().body) == "x")
        #expect(server.requests[0].bodyBytesReceived == size)
    }

    @Test("A client that leaves in the middle of its body ends the request incomplete")
    func leaving() async throws {
        let server = try LoopbackServer()
        server.route("/", .text("x"))
        var client: RawClient? = try RawClient(to: server)
        await client?.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nabc")
        await server.wait { $0.requests.first?.bodyBytesReceived == 3 }
        client = nil
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
        #expect(server.requests.map { String($0.body) } == ["abc"])
        #expect(server.requests.map(\.isComplete) == [false])
    }
}
