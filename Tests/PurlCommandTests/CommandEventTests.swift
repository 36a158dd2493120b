import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl --json", .timeLimit(.minutes(5)))
struct CommandEventTests {
    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// A line of what was printed.
    struct Line: Decodable, Equatable {
        var version = 1
        let event: String
        var file: String?
        var url: String?
        var bytes: Int64?
        var total: Int64?
        var newBytes: Int64?
        var reason: String?
        var result: String?
        var isChecked: Bool?
        var isResumable: Bool?
        var isActive: Bool?
        var isDryRun: Bool?
        var transfer: String?
        var status: Int?
        var failures: Int?
        var text: String?
        var base64: String?
        var exitStatus: Int32?

        init(_ event: String, _ change: (inout Line) -> Void = { _ in }) {
            self.event = event
            change(&self)
        }

        static func end(_ code: Int32) -> Line { Line("end") { $0.exitStatus = code } }
    }

    /// Runs a command, and decodes everything that it prints on either output, but for the progress of one that takes more
    /// than a second.
    private func run(_ words: [String], input: String = "") async throws -> [Line] {
        let (code, lines) = try await PurlProcess.run(words, in: folder, input: input)
        let events = try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(events.last == .end(code))
        return events.filter { $0.event != "progress" }
    }

    @Test("get prints the start, the retries and the end of each file")
    func get() async throws {
        server.route("/film", .generated(size: 3000).entityTag("\"v1\"").cut(afterBytes: 1000, times: 1))
        let url = server.url("/film").absoluteString
        let digest = GeneratedContent(size: 3000).sha256
        func line(_ event: String, _ change: (inout Line) -> Void) -> Line {
            Line(event) {
                ($0.file, $0.url) = ("film", url)
                change(&$0)
            }
        }
        #expect(
            try await run(["get", url, "--json", "--retry", "2", "--sha256", digest]) == [
                line("started") { ($0.bytes, $0.total) = (0, 3000) },
                line("retrying") {
                    ($0.reason, $0.failures) = ("The connection was lost in the middle of the response.", 1)
                },
                line("started") { ($0.bytes, $0.total) = (1000, 3000) },
                line("complete") {
                    ($0.bytes, $0.newBytes, $0.result, $0.isChecked) = (3000, 3000, "downloaded", true)
                },
                .end(0),
            ])
        #expect(
            try await run(["get", url, "--json", "--sha256", digest]).first
                == line("complete") {
                    ($0.bytes, $0.newBytes, $0.result, $0.isChecked) = (3000, 0, "alreadyComplete", true)
                })
    }

    @Test("get prints what has failed, and what is left of it")
    func failures() async throws {
        server.route("/film", .generated(size: 3000).entityTag("\"v1\"").cut(afterBytes: 1000))
        server.route("/none", .status(404))
        let lines = try await run(["get", "--json", "-P1"] + ["/film", "/none"].map { server.url($0).absoluteString })
        #expect(lines.map(\.event) == ["started", "failed", "saved", "failed", "end"])
        #expect(lines[1].text == "The connection was lost in the middle of the response.")
        #expect(lines[2].isResumable == true && lines[2].bytes == 1000 && lines[2].total == 3000)
        #expect(lines[3].status == 404 && lines[3].url == server.url("/none").absoluteString)
        let list = try await run(["list", "--json"])
        #expect(list.count == 2)
        #expect(list[0].event == "unfinished" && list[0].file == "film" && list[0].bytes == 1000)
        #expect(list[0].isResumable == true && list[0].isActive == false && list[0].transfer == "download")
        let (dry, clean) = (try await run(["clean", "--json", "--dry-run"]), try await run(["clean", "--json"]))
        #expect(dry.first?.event == "removed" && dry.first?.isDryRun == true)
        #expect(clean.first?.event == "removed" && clean.first?.isDryRun == false && clean.first?.bytes == 1000)
        #expect(try await run(["list", "--json"]) == [.end(0)])
    }

    @Test("put prints the upload, and what the server has answered")
    func put() async throws {
        server.route("/up", .text("thanks"))
        server.route("/no", .text("why").status(507))
        try folder.write("film", to: "film")
        let lines = try await run(["put", "film", server.url("/up").absoluteString, "--json"])
        #expect(lines.map(\.event) == ["started", "body", "complete", "end"])
        #expect(lines[1].text == "thanks")
        #expect(lines[2].bytes == 4 && lines[2].status == 200 && lines[2].result == "uploaded")
        let refused = try await run(["put", "film", server.url("/no").absoluteString, "--json"])
        #expect(refused.first { $0.event == "failed" }?.status == 507)
        #expect(refused.first { $0.event == "body" }?.text == "why")
        #expect(refused.last == .end(22))
    }

    @Test("ws prints the messages")
    func webSocket() async throws {
        server.route("/ws", .webSocket(.echo))
        let lines = try await run(["ws", "ws://127.0.0.1:\(server.port)/ws", "--json"], input: "one\ntwo\n")
        #expect(lines.map(\.event) == ["opened", "message", "message", "closed", "end"])
        #expect(lines.compactMap(\.text) == ["one", "two"])
        #expect(lines[3].status == 1000)
    }

    @Test(
        "errors of every kind are events: the command line, files, servers",
        arguments: [
            (["get", "--json", "--bad"], "error", "There is no option “--bad”.", 2),
            (["get", "--json"], "error", "The URL is missing.", 2),
            (["get", "-q", "--json", "http://h/f"], "error", "Give either “-q” or “--json”.", 2),
            (["get", "--json", "--input-file", "none"], "error", "There is no file “none”.", 1),
            (["get", "--json", "http://127.0.0.1:9/f"], "failed", "", 1),
            (["put", "--json", "none", "http://127.0.0.1:9/"], "failed", "There is no file “none”.", 1),
            (["list", "--json", "none"], "error", "There is no folder “none”.", 1),
            (
                ["get", "--json", "http://127.0.0.1:9/f", "-o", "/dev/stdout"], "failed",
                "“/dev/stdout” is standard output", 1
            ),
            (["get", "--json", "http://127.0.0.1:9/f", "-o", "-"], "error", "“-o” needs the name of a file", 2),
        ])
    func errors(words: [String], event: String, text: String, code: Int32) async throws {
        let lines = try await run(words)
        #expect(lines.count == 2 && lines[0].event == event)
        #expect(lines[0].text?.hasPrefix(text) == true, "\(lines)")
        #expect(lines[1] == .end(code))
    }

    @Test("a file that standard output is redirected to does not take the bytes, too")
    func redirected() async throws {
        server.route("/film", .text("film"))
        let process = try PurlProcess(
            shell: "\"$0\" \"$@\" >film; cat film",
            ["get", "--json", server.url("/film").absoluteString, "-o", "film"],
            in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(lines.first?.contains("“film” is standard output") == true, "\(lines)")
        #expect(server.requests.isEmpty)
    }

    @Test("after “--” it is no option: a mistake is printed as a line of text")
    func notAnOption() async throws {
        let (code, lines) = try await PurlProcess.run(["get", "--", "--json"], in: folder)
        #expect(code == 2)
        #expect(lines == ["purl: “--json” is not a URL such as http://host/file. See “purl get --help”."])
    }

    @Test("progress is an event a second at most, and only if there is some")
    func interval() {
        var interval = EventInterval()
        let times: [(Double, Int64, Bool)] = [
            (0, 0, false), (0.9, 5, false), (1, 5, true), (1.5, 9, false), (2, 9, true), (3.5, 9, false),
            (3.6, 10, true),
        ]
        for (seconds, bytes, isDue) in times {
            #expect(interval.take(bytes, at: .seconds(seconds)) == isDue, "\(seconds)")
        }
    }

    @Test("content that is not text is in base64")
    func content() {
        #expect(CommandEvent.content(.body, Data("é".utf8)).text == "é")
        let event = CommandEvent.content(.body, Data([0xFF]))
        #expect(event.text == nil && event.base64 == "/w==")
    }

    @Test("the documentation has the name of every event and field")
    func documentation() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Sources/Purl/Purl.docc/CommandLine.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let names =
            CommandEvent.Kind.allCases.map(\.rawValue)
            + Mirror(reflecting: CommandEvent(.end)).children.compactMap(\.label)
        #expect(names.filter { !text.contains("`\($0)`") } == [])
    }
}
