import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl serve")
struct ServeTests {
    @Test(
        "reads its arguments",
        arguments: [
            (["x.script"], .serve("x.script", port: 0, log: nil)),
            (["--port", "8080", "x", "--log", "l"], .serve("x", port: 8080, log: "l")),
            (["--port=8080", "--log=l", "x"], .serve("x", port: 8080, log: "l")),
            (["--tls", "x"], .serve("x", port: 0, log: nil, .https)),
            (["--list"], .list),
            (["--show", "cut"], .show("cut")),
        ] as [([String], ServeOptions)])
    func options(words: [String], options: ServeOptions) throws {
        #expect(try Command(arguments: ["serve"] + words) == .serve(options))
    }

    @Test(
        "refuses arguments that are wrong",
        arguments: [
            ([], "The script is missing: a file, or the name of one that “--list” prints."),
            (["a", "b"], "“serve” takes one script."),
            (["--port", "x", "a"], "“--port” needs a number from 0 to 65535, not “x”."),
            (["--port", "65536", "a"], "“--port” needs a number from 0 to 65535, not “65536”."),
            (["--port"], "“--port” needs a value."),
            (["--prot", "1", "a"], "There is no option “--prot”: did you mean “--port”?"),
        ])
    func badOptions(words: [String], sentence: String) {
        #expect(throws: UsageError(sentence, "serve")) { try Command(arguments: ["serve"] + words) }
    }

    @Test("logs a request with what was sent and how it ended")
    func logLine() async throws {
        let server = try LoopbackServer(script: ServerScript("route /a\n  text 0123\n  etag \"1\"\n  cut after 3"))
        _ = try? await URLSession.shared.data(from: server.url("/a?b"))
        let request = try #require(await server.waitUntilIdle().first)
        let line = LoggedRequest(request)
        #expect(line.request == "GET /a?b")
        #expect(line.fields["Host"] == "127.0.0.1:\(server.port)")
        #expect(line.status == 200)
        #expect(line.responseFields == ["Content-Length": "4", "Accept-Ranges": "bytes", "ETag": "\"1\""])
        #expect(line.bodyBytesSent == 3)
        #expect(line.end == "cut")
        var summary = ServeSummary()
        summary.add(line)
        #expect(summary.text == "1 request, 3 bytes of body sent: 1 cut")
        summary.add(line)
        #expect(summary.text == "2 requests, 6 bytes of body sent: 2 cut")
        #expect(ServeSummary().text == "0 requests, 0 bytes of body sent")
    }

    @Test("serves a script to any client, logs each request as a line of JSON, and sums up at Ctrl-C")
    func process() async throws {
        let folder = TemporaryFolder()
        try Data("title x\nroute /a\n  text 0123\n".utf8).write(to: folder.url.appendingPathComponent("x.script"))
        let process = try PurlProcess(["serve", "x.script"], in: folder)
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            struct Start: Decodable {
                let urls: [URL]
            }
            if let start = try? JSONDecoder().decode(Start.self, from: Data(line.utf8)), let url = start.urls.first {
                let (data, _) = try await URLSession.shared.data(from: url)
                #expect(String(decoding: data, as: UTF8.self) == "0123")
            }
            if line.contains("\"end\":\"complete\"") { process.signal(SIGINT) }
        }
        #expect(lines.contains { $0.contains("\"request\":\"GET /a\"") && $0.contains("\"bodyBytesSent\":4") })
        #expect(lines.last == "purl: 1 request, 4 bytes of body sent: 1 complete")
        #expect(await process.exitCode == 0)
    }

    @Test("a log that cannot be written is an error, which is said at the end")
    func fullLog() async throws {
        let folder = TemporaryFolder()
        let process = try PurlProcess(["serve", "cut", "--log", "/dev/full"], in: folder)
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            if line.hasPrefix("purl: serving ") { process.signal(SIGINT) }
        }
        #expect(
            lines.suffix(2) == [
                "purl: 0 requests, 0 bytes of body sent",
                "purl: “/dev/full” lacks lines that could not be written: No space left on device.",
            ])
        #expect(await process.exitCode == 1)
    }

    @Test("serves WebSockets that a script describes, and purl ws talks to them")
    func webSockets() async throws {
        let folder = TemporaryFolder()
        let script = "route /echo\n  websocket echo\nroute /chat\n  websocket text hi\n  websocket close 1011 enough\n"
        try Data(script.utf8).write(to: folder.url.appendingPathComponent("x.script"))
        let process = try PurlProcess(["serve", "x.script"], in: folder)
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            struct Start: Decodable {
                let urls: [URL]
            }
            guard let start = try? JSONDecoder().decode(Start.self, from: Data(line.utf8)), let url = start.urls.first,
                let port = url.port
            else { continue }
            let echo = try await PurlProcess.run(
                ["ws", "ws://127.0.0.1:\(port)/echo"], in: folder, input: "one\ntwo\n")
            #expect(echo == (0, ["one", "two"]))
            let chat = try await PurlProcess.run(["ws", "ws://127.0.0.1:\(port)/chat"], in: folder)
            #expect(chat == (1, ["hi", "purl: The server closed the connection with 1011: enough"]))
            process.signal(SIGINT)
        }
        #expect(lines.filter { $0.contains("\"status\":101") }.count == 2)
        #expect(await process.exitCode == 0)
    }

    @Test("a port that another program listens on is named, with what to do")
    func takenPort() async throws {
        let other = try LoopbackServer()
        let result = try await PurlProcess.run(["serve", "cut", "--port", "\(other.port)"], in: TemporaryFolder())
        let advice = "choose another with “--port”, or leave it out for a free one."
        #expect(result == (1, ["purl: Port \(other.port) is in use: \(advice)"]))
    }

    @Test("names the place of a mistake, and the ready scripts")
    func messages() async throws {
        let folder = TemporaryFolder()
        try Data("route /a\n  cutt\n".utf8).write(to: folder.url.appendingPathComponent("x.script"))
        let bad = try await PurlProcess.run(["serve", "x.script"], in: folder)
        #expect(bad == (1, ["purl: x.script:2:3: There is no directive “cutt”."]))
        let missing = try await PurlProcess.run(["serve", "y.script"], in: folder)
        #expect(
            missing == (
                1,
                [
                    "purl: There is neither a file nor a ready script “y.script”; “purl serve --list” shows those there are."
                ]
            ))
        let misspelt = try await PurlProcess.run(["serve", "flakey"], in: folder)
        #expect(
            misspelt == (1, ["purl: There is neither a file nor a ready script “flakey”: did you mean “flaky”?"]))
        let shownMisspelt = try await PurlProcess.run(["serve", "--show", "flakey"], in: folder)
        #expect(shownMisspelt == (1, ["purl: There is no ready script “flakey”: did you mean “flaky”?"]))
        #expect(try await PurlProcess.run(["serve", "."], in: folder) == (1, ["purl: “.” is a folder."]))
        let list = try await PurlProcess.run(["serve", "--list"], in: folder)
        #expect(list.lines.count == ServerScript.ready.count)
        #expect(list.lines.contains("cut             The first two responses are cut off"))
        let shown = try await PurlProcess.run(["serve", "--show", "cut"], in: folder)
        #expect(shown.lines.first == "title The first two responses are cut off")
    }
}
