import Foundation
import PurlTesting
import Testing

@Suite("Connections")
struct ConnectionTests {
    @Test("A connection takes several requests, and each request has its connection's number")
    func reuse() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("x"))
        let first = try RawClient(to: server)
        for path in ["/a", "/b"] {
            await first.get(path)
            #expect(await first.readResponse().head.contains("Connection") == false)
        }
        let second = try RawClient(to: server)
        await second.get("/c")
        _ = await second.readResponse()
        #expect(server.requests.map(\.path) == ["/a", "/b", "/c"])
        #expect(server.requests.map(\.connection) == [1, 1, 2])
        #expect(server.openConnections == 2)
        #expect(server.acceptedConnections == 2)
    }

    @Test("Pipelined requests get their responses in order, with stalls and handlers among them")
    func pipelining() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/1", Reply.text("one ").stalled(afterBytes: 2, until: gate))
        server.route("/2", .computed { request in .text("two:" + String(decoding: request.body, as: UTF8.self)) })
        server.route("/3", .generated(size: 300_000))
        server.route("/4", Reply.text("end").closingConnection())
        let client = try RawClient(to: server)
        await client.send(
            "GET /1 HTTP/1.1\r\nHost: t\r\n\r\nPOST /2 HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc"
                + "GET /3 HTTP/1.1\r\nHost: t\r\n\r\nGET /4 HTTP/1.1\r\nHost: t\r\n\r\nGET /5 HTTP/1.1\r\n\r\n")
        await gate.reached()
        #expect(server.requests.map(\.path) == ["/1"])
        gate.open()
        #expect(String(await client.readResponse().body) == "one ")
        #expect(String(await client.readResponse().body) == "two:abc")
        #expect(GeneratedContent(size: 300_000).matches(await client.readResponse().body))
        #expect(String(await client.readResponse().body) == "end")
        #expect(await client.readToEnd().data.isEmpty)
        #expect(server.requests.map(\.path) == ["/1", "/2", "/3", "/4"])
    }

    @Test("5000 pipelined requests get all their responses, and another connection is served meanwhile")
    func manyPipelined() async throws {
        let server = try LoopbackServer()
        server.route("/", .bytes(Data("x".utf8)))
        let client = try RawClient(to: server)
        let count = 5_000
        async let sent = client.send(String(repeating: "GET / HTTP/1.1\r\nHost: t\r\n\r\n", count: count))
        await server.waitForRequests(100)
        let reader = try RawClient(to: server)
        await reader.get("/")
        #expect(String(await reader.readResponse().body) == "x")
        _ = await sent
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nAccept-Ranges: bytes\r\n\r\nx"
        #expect(await client.read(response.utf8.count * count) == Data(String(repeating: response, count: count).utf8))
    }

    @Test(
        "An HTTP/1.0 connection is kept only with Connection: keep-alive",
        arguments: [
            ("Connection: keep-alive\r\n", true), ("", false),
        ])
    func http10(_ field: String, _ isKept: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/", .text("x"))
        let client = try RawClient(to: server)
        await client.send("GET / HTTP/1.0\r\n\(field)\r\n")
        let head = await client.readResponse().head
        #expect(head.contains("Connection: \(isKept ? "keep-alive" : "close")\r\n"))
        if isKept {
            await client.send("GET / HTTP/1.0\r\n\r\n")
            #expect(String(await client.readResponse().body) == "x")
        }
        #expect(await client.readToEnd().end == .closed)
    }

    @Test(
        "A request that is not HTTP gets a 400 and the end of the stream",
        arguments: [
            "rubbish\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET /\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\nX: " + String(repeating: "a", count: 100_000) + "\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : t\r\n\r\n",
        ])
    func badRequest(_ text: String) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("fine"))
        let client = try RawClient(to: server)
        await client.send(text)
        #expect(await client.readHead().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(await client.readToEnd().end == .closed)
        #expect(server.record.badRequests.count == 1)
    }

    @Test("The server serves requests after connections with random bytes")
    func randomBytes() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("fine"))
        for seed in 0..<40 {
            let client = try RawClient(to: server)
            let noise = GeneratedContent(size: 4_096, seed: UInt64(seed)).data
            let beginning = ["", "GET ", "GET / HTTP/1.1\r\nHost: t\r\n"][seed % 3]
            await client.send(Data(beginning.utf8) + noise)
            if seed % 2 == 0 { client.resetWhenReleased() }
        }
        await server.waitUntilDisconnected()
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(String(await client.readResponse().body) == "fine")
    }

    @Test("A client that ends its stream first gets its responses")
    func halfClosed() async throws {
        let server = try LoopbackServer()
        server.fallback(.generated(size: 6 << 20))
        let client = try RawClient(to: server)
        await client.send("GET /1 HTTP/1.1\r\nHost: t\r\n\r\nGET /2 HTTP/1.1\r\nHost: t\r\n\r\n")
        client.finishSending()
        #expect(await client.readResponse().body.count == 6 << 20)
        #expect(await client.readResponse().body.count == 6 << 20)
        #expect(await client.readToEnd().data.isEmpty)
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.complete, .complete])
    }

    @Test("A raw reply that keeps the connection open is followed by the next response")
    func rawKeptOpen() async throws {
        let server = try LoopbackServer()
        server.route("/raw", .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", then: .keepOpen))
        let client = try RawClient(to: server)
        await client.get("/raw")
        #expect(String(await client.readResponse().body) == "a")
        await client.get("/next")
        #expect(await client.readHead().hasPrefix("bHTTP/1.1 404 "))
    }
}
