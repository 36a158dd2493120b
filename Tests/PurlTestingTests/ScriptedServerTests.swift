import Foundation
import PurlTesting
import Testing

/// What a script's server sends for one request after the other.
private struct Exchange: Sendable, CustomTestStringConvertible {
    let name: String
    /// What stands below `route /`.
    let lines: String
    /// The field lines of each request.
    let requests: [[String]]
    /// The status of each response, its body, and some of its fields.
    let responses: [(status: Int, body: String, fields: [String])]

    var testDescription: String { name }
}

private let exchanges: [Exchange] = [
    Exchange(
        name: "changes after the first request", lines: "text old\netag \"1\"\n2-: text new\n2-: etag \"2\"",
        requests: [[], ["Range: bytes=1-", "If-Range: \"1\""], ["Range: bytes=1-", "If-Range: \"2\""]],
        responses: [(200, "old", ["ETag: \"1\""]), (200, "new", ["ETag: \"2\""]), (206, "ew", [])]),
    Exchange(
        name: "ignores every second range", lines: "text 0123\nranged every 2: ranges ignored",
        requests: [["Range: bytes=2-"], [], ["Range: bytes=2-"], ["Range: bytes=2-"]],
        responses: [(206, "23", []), (200, "0123", []), (200, "0123", []), (206, "23", [])]),
    Exchange(
        name: "refuses the second range that begins behind the middle",
        lines: "text 0123456789\nfrom 5- 2: status 403",
        requests: [
            ["Range: bytes=5-"], ["Range: bytes=2-"], ["Range: bytes=-3"], ["Range: bytes=7-8"], ["Range: bytes=7-8"],
        ],
        responses: [
            (206, "56789", []), (206, "23456789", []), (206, "789", []), (403, "0123456789", []), (206, "78", []),
        ]),
    Exchange(
        name: "sends another range, and says so",
        lines: "text 0123456789\n1: range shifted -2\n2: range shifted 1\n3: range shortened 2\n4: range shifted -99",
        requests: Array(repeating: ["Range: bytes=4-"], count: 4),
        responses: [
            (206, "23456789", ["Content-Range: bytes 2-9/10"]), (206, "56789", ["Content-Range: bytes 5-9/10"]),
            (206, "45", ["Content-Range: bytes 4-5/10"]), (206, "0123456789", ["Content-Range: bytes 0-9/10"]),
        ]),
    Exchange(
        name: "sends more than the range, and says so", lines: "text 0123456789\nrange lengthened 3",
        requests: [["Range: bytes=2-3"], ["Range: bytes=8-8"], ["Range: bytes=4-"]],
        responses: [
            (206, "23456", ["Content-Range: bytes 2-6/10"]), (206, "89", ["Content-Range: bytes 8-9/10"]),
            (206, "456789", ["Content-Range: bytes 4-9/10"]),
        ]),
    Exchange(
        name: "never finds If-Range true", lines: "text 0123\netag \"1\"\nif-range refused",
        requests: [["Range: bytes=2-", "If-Range: \"1\""], ["Range: bytes=2-", "If-Match: \"1\""]],
        responses: [(200, "0123", []), (206, "23", [])]),
    Exchange(
        name: "ignores If-Range", lines: "text 0123\netag \"2\"\nif-range ignored",
        requests: [["Range: bytes=2-", "If-Range: \"1\""]], responses: [(206, "23", ["ETag: \"2\""])]),
    Exchange(
        name: "compares If-Match strongly", lines: "text 0123\netag \"2\"\n3: etag W/\"2\"\n4: conditions ignored",
        requests: [
            ["If-Match: \"1\""], ["If-Match: \"1\", \"2\""], ["If-Match: W/\"2\""], ["If-Match: \"1\""],
            ["If-Match: *"],
        ],
        responses: [(412, "", []), (200, "0123", []), (412, "", []), (200, "0123", []), (200, "0123", [])]),
    Exchange(
        name: "sends parts", lines: "text 0123456789\nranges multipart",
        requests: [["Range: bytes=0-1,8-"]],
        responses: [
            (
                206,
                "--purl-byteranges\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r\n"
                    + "--purl-byteranges\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n--purl-byteranges--\r\n",
                ["Content-Type: multipart/byteranges; boundary=purl-byteranges"]
            )
        ]),
    Exchange(
        name: "refuses ranges with and without a length",
        lines: "text 0123\n1: ranges refused\n2: ranges refused without length",
        requests: [["Range: bytes=2-"], ["Range: bytes=2-"]],
        responses: [(416, "", ["Content-Range: bytes */4"]), (416, "", [])]),
    Exchange(
        name: "sends a range with status 200", lines: "text 0123\nrange status 200",
        requests: [["Range: bytes=2-"]], responses: [(200, "23", ["Content-Range: bytes 2-3/4"])]),
    Exchange(
        name: "is busy once", lines: "text 0123\n1: text busy\n1: status 503 Busy\n1: field Retry-After: 1",
        requests: [[], []], responses: [(503, "busy", ["Retry-After: 1"]), (200, "0123", [])]),
    Exchange(
        name: "redirects within the client's port", lines: "redirect 307 http://localhost:{port}/b",
        requests: [["Host: x:81"]], responses: [(307, "", ["Location: http://localhost:81/b"])]),
]

@Suite("A server with a script")
struct ScriptedServerTests {
    @Test("does what the lines say", arguments: exchanges)
    fileprivate func exchange(_ exchange: Exchange) async throws {
        let server = try LoopbackServer(script: ServerScript("route /\n" + exchange.lines))
        let client = try RawClient(to: server)
        for (fields, expected) in zip(exchange.requests, exchange.responses) {
            let host = fields.contains { $0.hasPrefix("Host:") } ? "" : "Host: test\r\n"
            await client.send("GET / HTTP/1.1\r\n\(host)" + fields.map { "\($0)\r\n" }.joined() + "\r\n")
            let response = await client.readResponse()
            #expect(response.head.hasPrefix("HTTP/1.1 \(expected.status) "))
            #expect(String(response.body) == expected.body)
            for field in expected.fields { #expect(response.head.contains("\r\n\(field)\r\n")) }
            if expected.status == 416, expected.fields.isEmpty { #expect(!response.head.contains("Content-Range")) }
        }
    }

    @Test(
        "announces another length than the body has, and closes the connection",
        arguments: [("+3", "7"), ("-3", "1"), ("-9", "0"), ("9", "9")])
    func length(word: String, announced: String) async throws {
        let server = try LoopbackServer(script: ServerScript("route /\n  text 0123\n  length \(word)"))
        let client = try RawClient(to: server)
        await client.get("/")
        let all = await client.readTextToEnd()
        #expect(all.contains("Content-Length: \(announced)\r\n"))
        #expect(all.hasSuffix("\r\n\r\n0123"))
    }

    @Test(
        "cuts the body where a line says",
        arguments: [
            ("before end", 999), ("before-last 100", 900), ("after 25%", 250), ("after 7", 7), ("in middle", 500),
        ])
    func cut(place: String, count: Int) async throws {
        let server = try LoopbackServer(script: ServerScript("route /\n  generated 1000\n  1: cut \(place)"))
        let client = try RawClient(to: server)
        await client.get("/")
        _ = await client.readTextToEnd()
        let requests = await server.waitUntilIdle()
        #expect(requests.map(\.bytesSent) == [count])
        #expect(requests.map(\.ending) == [.cut])
    }

    @Test("takes uploads, with the faults and limits that its lines say")
    func uploads() async throws {
        let script = try ServerScript(
            """
            route /f
              uploads 6
              upload-limit max-size 1K
              upload-fault cut at 2
              upload-fault status 503 at HEAD
            """)
        let server = try LoopbackServer(script: script)
        func send(_ request: String, _ fields: String...) async throws -> String {
            let client = try RawClient(to: server)
            let lines = (["Host: test", "Connection: close", "Upload-Draft-Interop-Version: 6"] + fields)
            await client.send("\(request) HTTP/1.1\r\n\(lines.joined(separator: "\r\n"))\r\n\r\nabcd")
            return await client.readTextToEnd()
        }
        let large = try await send("POST /f", "Upload-Complete: ?1", "Content-Length: 1025")
        #expect(large.hasPrefix("HTTP/1.1 413 ") && large.contains("Upload-Limit: max-size=1024"))
        let cut = try await send("POST /f", "Upload-Complete: ?1", "Content-Length: 4")
        #expect(cut.hasPrefix("HTTP/1.1 104 ") && !cut.contains("HTTP/1.1 201"))
        #expect(try await send("HEAD /f/upload-0").hasPrefix("HTTP/1.1 503 "))
        #expect(try await send("HEAD /f/upload-0").contains("Upload-Offset: 2\r\n"))
        let rest = try await send(
            "PATCH /f/upload-0", "Upload-Complete: ?1", "Upload-Offset: 2", "Content-Type: application/partial-upload",
            "Content-Length: 2")
        #expect(rest.hasPrefix("HTTP/1.1 201 "))
        #expect(try await send("GET /f").hasSuffix("\r\n\r\nabab"))
    }

    @Test("accepts WebSockets, and takes the steps of its lines, for the handshakes that a selector chooses")
    func webSockets() async throws {
        let script = try ServerScript(
            """
            route /ws
              websocket echo
              1: websocket text hi
              1: websocket receive 1
              websocket cut
            """)
        let server = try LoopbackServer(script: script)
        func exchange() async throws -> Data {
            let client = try RawClient(to: server)
            await client.send(WebSocketTests.handshake() + WebSocketTests.frame(0x81, "a"))
            return await client.readToEnd().data
        }
        let hi = Data([0x81, 2]) + Data("hi".utf8)
        #expect(try await exchange() == WebSocketTests.response() + hi + Data([0x81, 1]) + Data("a".utf8))
        #expect(try await exchange().starts(with: WebSocketTests.response()))
        await server.wait { $0.webSockets.map(\.ending) == [.cut, .cut] }
    }

    @Test("counts no HEAD, and spares it the faults")
    func head() async throws {
        let server = try LoopbackServer(script: ServerScript("route /\n  text 0123\n  1: cut before head"))
        for method in ["HEAD", "HEAD", "GET", "GET"] {
            let client = try RawClient(to: server)
            await client.send("\(method) / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            _ = await client.readTextToEnd()
        }
        let requests = await server.waitUntilIdle()
        #expect(requests.map(\.ending) == [.complete, .complete, .cut, .complete])
    }

    @Test("counts the connections of a route, in the order of their first requests there")
    func connections() async throws {
        let text = "route /other\nroute /\n  text 0\n  connection 2: text 1\n  connection 2 2-: text 2\n"
        let server = try LoopbackServer(script: ServerScript(text))
        let clients = try (0..<3).map { _ in try RawClient(to: server) }
        // The first connection that the server accepts asks for something else first.
        await clients[0].get("/other")
        _ = await clients[0].readResponse()
        var bodies: [String] = []
        for index in [1, 0, 0, 2, 1, 0] {
            await clients[index].get("/")
            bodies.append(String(await clients[index].readResponse().body))
        }
        #expect(bodies == ["0", "1", "2", "0", "0", "2"])
    }

    @Test("decides by its seed what happens at random, and decides the same each time")
    func chance() async throws {
        func endings(seed: Int) async throws -> [[Int]] {
            let text = "seed \(seed)\nroute /\n  generated 1000\n  chance 50%: cut at random\n"
            let server = try LoopbackServer(script: ServerScript(text))
            for _ in 0..<20 {
                let client = try RawClient(to: server)
                await client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
                _ = await client.readTextToEnd()
            }
            return await server.waitUntilIdle().map { [$0.bytesSent, $0.ending == .cut ? 1 : 0] }
        }
        let first = try await endings(seed: 1)
        #expect(try await endings(seed: 1) == first)
        #expect(try await endings(seed: 2) != first)
        #expect((1..<20).contains(first.count { $0[1] == 1 }))
    }

    @Test("serves a file beside the script")
    func file() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("script-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("0123".utf8).write(to: folder.appendingPathComponent("a b"))
        let script = folder.appendingPathComponent("x.script")
        try Data("route /\n  file a b\n".utf8).write(to: script)
        let server = try LoopbackServer(script: ServerScript(contentsOf: script))
        let client = try RawClient(to: server)
        await client.get("/", "Range: bytes=2-")
        #expect(String(await client.readResponse().body) == "23")
    }

    @Test("hands over the requests that have ended, with what was sent")
    func endedRequests() async throws {
        let server = try LoopbackServer(script: ServerScript("route /\n  text 0123\n  2: stall after 1"))
        let client = try RawClient(to: server)
        await client.get("/")
        _ = await client.readResponse()
        await client.get("/")
        await server.wait { $0.requests.last?.bytesSent == 1 }
        let ended = server.takeEndedRequests()
        #expect(ended.map(\.number) == [0])
        #expect(ended.first?.status == 200)
        #expect(ended.first?.responseFields?["Content-Length"] == "4")
        #expect(server.requests.map(\.number) == [1])
        server.stop()
        #expect(server.takeEndedRequests().map(\.ending) == [.serverStopped])
        #expect(server.requests.isEmpty)
    }
}
