import Foundation
import PurlTesting
import Testing

@Suite("purl get --retry", .timeLimit(.minutes(5)))
struct RetryTests {
    static let content = GeneratedContent(size: 4_000_000, seed: 3)

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private var film: Reply { .generated(Self.content).entityTag("\"v1\"") }

    private func get(_ url: URL, _ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", url.absoluteString] + options, in: folder)
    }

    private static func busy(_ retryAfter: String) -> Reply { .status(503).field("Retry-After", retryAfter) }

    @Test("retries when the server is busy, and prints the reason and the delay")
    func busyServer() async throws {
        let url = server.route("/film.bin", .sequence([Self.busy("0"), film]))
        let (code, lines) = try await get(url, "--retry", "2")
        #expect(code == 0)
        #expect(lines.first == "The server answered 503 (Service Unavailable). Retrying in 1 s (1 of 2)")
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("resumes, and resets the count after progress")
    func lostConnections() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 2))
        let (code, lines) = try await get(url, "--retry", "1")
        #expect(code == 0)
        let waits = lines.filter { $0.hasSuffix("Retrying in 1 s (1 of 1)") }
        #expect(waits.count == 2)
        #expect(waits.first?.hasPrefix("The connection was lost in the middle of the response.") == true)
        #expect(lines.contains("film.bin: resuming at 2.00 MB of 4.00 MB"))
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=1000000-", "bytes=2000000-"])
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("resumes its own bytes even with --no-resume")
    func withoutParts() async throws {
        try folder.leaveParts(of: server.url("/film.bin").absoluteString, named: "film.bin", bytes: 10)
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 1))
        #expect(try await get(url, "--retry", "1", "--no-resume").exitCode == 0)
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=1000000-"])
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("fails after the last retry like the first attempt")
    func givingUp() async throws {
        let url = server.route("/film.bin", Self.busy("0"))
        let (code, lines) = try await get(url, "--retry", "1")
        #expect(code == 22)
        #expect(lines.last == "purl: \(url.absoluteString): The server answered 503 (Service Unavailable).")
        #expect(server.requests.count == 2)
        #expect(folder.names.isEmpty)
    }

    @Test(
        "does not retry lasting statuses or a delay of hours",
        arguments: [Reply.status(404), Reply.status(403), Self.busy("100000")])
    func hopeless(reply: Reply) async throws {
        let url = server.route("/film.bin", reply)
        #expect(try await get(url, "--retry", "5").exitCode == 22)
        #expect(server.requests.count == 1)
    }

    @Test("is needed for retries")
    func notWanted() async throws {
        let url = server.route("/film.bin", Self.busy("0"))
        #expect(try await get(url).exitCode == 22)
        #expect(server.requests.count == 1)
    }

    @Test("waits as long as the server asks, unless interrupted", arguments: [1, 2])
    func interruption(count: Int) async throws {
        let urls = (0..<count).map { server.route("/\($0)", Self.busy("600")).absoluteString }
        let process = try PurlProcess(["get", "--retry", "3"] + urls, in: folder)
        var waiting = 0
        for await line in process.lines where line.hasSuffix("Retrying in 10:00 (1 of 3)") {
            waiting += 1
            if waiting == count { process.signal(SIGINT) }
        }
        #expect(waiting == count)
        #expect(await process.exitCode == 130)
        #expect(folder.names.isEmpty)
    }
}
