import Foundation
import PurlTesting
import Testing

@Suite("Files and large content")
struct DeliveryTests {
    @Test("A file is served with ranges, as it is at the time of the request")
    func file() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: url) }
        let content = GeneratedContent(size: 1_000_003, seed: 5)
        let server = try LoopbackServer()
        server.route("/", Reply.file(url).entityTag("\"f\""))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readAnswer().head.hasPrefix("HTTP/1.1 404 "))
        try content.data.write(to: url)
        let next = try RawClient(to: server)
        await next.get("/")
        let body = await next.readAnswer().body
        #expect(body.count == content.size)
        #expect(content.matches(body))
        await next.get("/", "Range: bytes=300001-700000")
        let part = await next.readAnswer().body
        #expect(part.count == 400_000)
        #expect(content.matches(part, at: 300_001))
    }

    @Test("A client that reads nothing stops the server; one that goes on gets everything")
    func backPressure() async throws {
        let size = 64 << 20
        let server = try LoopbackServer()
        let probe = Gate()
        server.route("/", .generated(size: size))
        server.route("/probe", Reply.text("x").delayed(until: probe))
        let client = try RawClient(to: server, receiveBuffer: 64 << 10)
        await client.get("/")
        await server.wait { ($0.requests.first?.bytesSent ?? 0) > 0 }
        // The server gets many turns in which it could send, if it were not for the client.
        let other = try RawClient(to: server)
        probe.open()
        for _ in 0..<50 {
            await other.get("/probe")
            _ = await other.readAnswer()
        }
        let sent = try #require(server.requests.first?.bytesSent)
        #expect(sent < 16 << 20)
        #expect(server.requests.first?.ending == nil)
        let body = await client.readAnswer().body
        #expect(body.count == size)
        #expect(GeneratedContent(size: size).matches(body))
        // The last byte arrives before the server has written down that it sent it.
        let requests = await server.waitUntilIdle()
        #expect(requests.first?.ending == .complete)
    }

    @Test(
        "Every delivery carries large content unharmed",
        arguments: [
            Reply.generated(size: 5_000_000, seed: 1).chunked(),
            Reply.generated(size: 5_000_000, seed: 1).chunked(size: 777),
            Reply.generated(size: 5_000_000, seed: 1).untilClose(),
        ])
    func deliveries(_ reply: Reply) async throws {
        let server = try LoopbackServer()
        server.route("/", reply.closingConnection())
        let client = try RawClient(to: server)
        await client.get("/")
        let isChunked = await client.readHead().contains("chunked")
        let data = await client.readToEnd().data
        let body = isChunked ? Self.unchunk(data) : data
        #expect(body.count == 5_000_000)
        #expect(GeneratedContent(size: 5_000_000, seed: 1).matches(body))
        #expect(server.requests.map(\.bytesSent) == [5_000_000])
    }

    private static func unchunk(_ data: Data) -> Data {
        var rest = data[...]
        var body = Data()
        while let end = rest.firstIndex(of: 13),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16)
        {
            rest = rest[(end + 2)...]
            body += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
        }
        return body
    }
}

@Suite("The record")
struct RecordTests {
    @Test("Forgotten requests are gone, and numbers go on")
    func forgetting() async throws {
        let server = try LoopbackServer()
        let client = try RawClient(to: server)
        await client.get("/a")
        _ = await client.readAnswer()
        server.forgetRequests()
        #expect(server.requests.isEmpty)
        await client.get("/b")
        _ = await client.readAnswer()
        #expect(await server.waitForRequests(1).map(\.path) == ["/b"])
        #expect(server.requests.map(\.number) == [1])
    }

    @Test("A server can count only")
    func countingOnly() async throws {
        let server = try LoopbackServer(recordsRequests: false)
        server.fallback(.echo)
        let client = try RawClient(to: server)
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\nhi")
        #expect(String(await client.readAnswer().body).hasSuffix("hi"))
        await server.waitUntilIdle()
        #expect(server.requests.isEmpty)
        #expect(server.record.completeRequests == 1)
    }

    @Test("Waiting for a request that has not come yet")
    func waiting() async throws {
        let server = try LoopbackServer()
        async let requests = server.waitForRequests(2)
        let client = try RawClient(to: server)
        await client.get("/a")
        await client.get("/b")
        #expect(await requests.map(\.path) == ["/a", "/b"])
    }

    @Test("A cancelled task stops waiting")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let waiting = Task { await server.wait { $0.requests.count == 9 } }
        waiting.cancel()
        await waiting.value
        #expect(server.requests.isEmpty)
    }
}
