import Foundation
import PurlTesting
import Testing

@Suite("The README's programs", .timeLimit(.minutes(5)))
struct ReadmeTests {
    private static let content = GeneratedContent(size: 3_000_000, seed: 81)

    private let folder = TemporaryFolder()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// The server is the proxy of the URL in the program, and has the file.
    private func start(_ name: String) throws -> ExampleProcess {
        try ExampleProcess(name, in: folder, proxy: server.url("/"))
    }

    private func isComplete() throws -> Bool { try Self.content.matches(fileAt: folder.file("image.iso")) }

    /// Where the second request begins; `nil` if it is for the whole file.
    private var resumption: Int? {
        guard server.requests.count == 2, let range = server.requests[1].fields["Range"] else { return nil }
        return Int(range.dropFirst("bytes=".count).prefix { $0 != "-" })
    }

    @Test("are those of the examples", arguments: ["FirstDownload", "SurvivingDownload"])
    func text(name: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
            .standardizedFileURL
        let program = try String(
            contentsOf: root.appendingPathComponent("Examples/\(name)/main.swift"), encoding: .utf8)
        let page = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(page.contains("```swift\n" + program + "```\n"))
    }

    @Test("Ctrl-C pauses the download, the next start resumes it, and the one after that finds the file")
    func pause() async throws {
        let gate = ServerGate()
        server.route(
            "/image.iso",
            .generated(Self.content).entityTag("\"v1\"").stalled(afterBytes: 1_000_000, until: gate, times: 1))
        let first = try start("FirstDownload")
        var lines: [String] = []
        for await line in first.lines {
            lines.append(line)
            if line == "1000000 of 3000000" { first.signal(SIGINT) }
        }
        #expect(await first.exitCode == 1)
        // It is the signal that has ended it, and no time-out.
        #expect(lines.suffix(2) == ["1000000 of 3000000", "Paused."])
        gate.open()
        #expect(FileManager.default.fileExists(atPath: folder.file("image.iso.resume").path))
        #expect(await (try start("FirstDownload")).exitCode == 0)
        #expect(resumption == 1_000_000)
        #expect(try isComplete())
        #expect(!FileManager.default.fileExists(atPath: folder.file("image.iso.resume").path))
        #expect(await (try start("FirstDownload")).exitCode == 0)
        #expect(server.requests.count == 2)
    }

    @Test("neither saves an error's page as the file", arguments: ["FirstDownload", "SurvivingDownload"])
    func errorPage(name: String) async throws {
        server.route("/image.iso", .text("gone").status(404))
        let process = try start(name)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(await process.exitCode == 1)
        #expect(lines.contains("The server responded with 404."))
        #expect(!FileManager.default.fileExists(atPath: folder.file("image.iso").path))
    }

    @Test("a process that is killed is followed by one that fetches what is missing, and leaves nothing in the journal")
    func kill() async throws {
        let gate = ServerGate()
        server.route(
            "/image.iso",
            .generated(Self.content).entityTag("\"v1\"").stalled(afterBytes: 1_000_000, until: gate, times: 1))
        let first = try start("SurvivingDownload")
        await folder.waitForFile(ofSize: 1_000_000)
        first.signal(SIGKILL)
        #expect(await first.exitCode == -SIGKILL)
        gate.open()
        // It continues by itself, and must not be over when it asks what there is.
        let asked = ServerGate()
        server.route("/image.iso", .generated(Self.content).entityTag("\"v1\"").delayed(until: asked, times: 1))
        let second = try start("SurvivingDownload")
        var lines: [String] = []
        for await line in second.lines {
            lines.append(line)
            asked.open()
        }
        #expect(await second.exitCode == 0)
        #expect(lines == ["continues"])
        #expect(resumption == 1_000_000)
        #expect(try isComplete())
        try FileManager.default.removeItem(at: folder.file("image.iso"))
        let third = try start("SurvivingDownload")
        lines = []
        for await line in third.lines { lines.append(line) }
        #expect(lines == ["begins"])
        #expect(try isComplete())
    }
}
