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
        #expect(await client.readResponse().head.hasPrefix("HTTP/1.1 404 "))
        try content.data.write(to: url)
        let next = try RawClient(to: server)
        await next.get("/")
        let body = await next.readResponse().body
        #expect(body.count == content.size)
        #expect(content.matches(body))
        await next.get("/", "Range: bytes=300001-700000")
        let part = await next.readResponse().body
        #expect(part.count == 400_000)
        #expect(content.matches(part, at: 300_001))
    }

    @Test("What is no regular file is not found, and does not stop the server", arguments: ["pipe", "folder"])
    func special(kind: String) async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: url) }
        if kind == "pipe" {
            #expect(mkfifo(url.path, 0o600) == 0)
        } else {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        }
        let server = try LoopbackServer()
        server.route("/", .file(url))
        server.route("/other", .text("other"))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readResponse().head.hasPrefix("HTTP/1.1 404 "))
        let next = try RawClient(to: server)
        await next.get("/other")
        #expect(await next.readResponse().body == Data("other".utf8))
    }

    @Test("The last byte of the longest content is a part of its own")
    func lastByte() async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.generated(size: .max).multipartRanges())
        let client = try RawClient(to: server)
        await client.get("/", "Range: bytes=9223372036854775806-")
        let response = await client.readResponse()
        #expect(response.head.hasPrefix("HTTP/1.1 206 "))
        #expect(
            String(decoding: response.body, as: UTF8.self).contains("bytes 9223372036854775806-9223372036854775806/"))
    }

    @Test("The server stops sending to a client that does not read, and continues when it reads")
    func backPressure() async throws {
        let size = 64 << 20
        let server = try LoopbackServer()
        let probe = ServerGate()
        server.route("/", .generated(size: size))
        server.route("/probe", Reply.text("x").delayed(until: probe))
        let client = try RawClient(to: server, receiveBuffer: 64 << 10)
        await client.get("/")
        await server.wait { ($0.requests.first?.bytesSent ?? 0) > 0 }
        // The server's loop turns many times meanwhile.
        let other = try RawClient(to: server)
        probe.open()
        for _ in 0..<50 {
            await other.get("/probe")
            _ = await other.readResponse()
        }
        let sent = try #require(server.requests.first?.bytesSent)
        #expect(sent < 16 << 20)
        #expect(server.requests.first?.ending == nil)
        let body = await client.readResponse().body
        #expect(body.count == size)
        #expect(GeneratedContent(size: size).matches(body))
        // The last byte arrives before the server has recorded it as sent.
        let requests = await server.waitUntilIdle()
        #expect(requests.first?.ending == .complete)
    }

    @Test(
        "Large content arrives unchanged with every delivery",
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
