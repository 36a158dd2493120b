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

    @Test("tries again when the server is busy, and says why and how long it waits")
    func busyServer() async throws {
        let url = server.route("/film.bin", .sequence([Self.busy("0"), film]))
        let (code, lines) = try await get(url, "--retry", "2")
        #expect(code == 0)
        #expect(lines.first == "The server answered 503 (Service Unavailable). Trying again in 1 s (1 of 2).")
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("goes on from the bytes there, and counts anew when it got further")
    func lostConnections() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 2))
        let (code, lines) = try await get(url, "--retry", "1")
        #expect(code == 0)
        let waits = lines.filter { $0.hasSuffix("Trying again in 1 s (1 of 1).") }
        #expect(waits.count == 2)
        #expect(waits.first?.hasPrefix("The connection was lost in the middle of the response.") == true)
        #expect(lines.contains("film.bin: going on at 2.00 MB of 4.00 MB"))
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=1000000-", "bytes=2000000-"])
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("goes on even with --no-resume, since these bytes are its own")
    func withoutParts() async throws {
        try folder.leaveParts(of: server.url("/film.bin").absoluteString, named: "film.bin", bytes: 10)
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 1))
        #expect(try await get(url, "--retry", "1", "--no-resume").exitCode == 0)
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=1000000-"])
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("gives up in the end, as if it had been the first time")
    func givingUp() async throws {
        let url = server.route("/film.bin", Self.busy("0"))
        let (code, lines) = try await get(url, "--retry", "1")
        #expect(code == 22)
        #expect(lines.last == "purl: The server answered 503 (Service Unavailable).")
        #expect(server.requests.count == 2)
        #expect(folder.names.isEmpty)
    }

    @Test(
        "does not try again what would not change, or what is put off for hours",
        arguments: [Reply.status(404), Reply.status(403), Self.busy("100000")])
    func hopeless(reply: Reply) async throws {
        let url = server.route("/film.bin", reply)
        #expect(try await get(url, "--retry", "5").exitCode == 22)
        #expect(server.requests.count == 1)
    }

    @Test("is not done unless wanted")
    func notWanted() async throws {
        let url = server.route("/film.bin", Self.busy("0"))
        #expect(try await get(url).exitCode == 22)
        #expect(server.requests.count == 1)
    }

    @Test("waits as long as the server asks, unless somebody interrupts", arguments: [1, 2])
    func interruption(count: Int) async throws {
        let urls = (0..<count).map { server.route("/\($0)", Self.busy("600")).absoluteString }
        let process = try PurlProcess(["get", "--retry", "3"] + urls, in: folder)
        var waiting = 0
        for await line in process.lines where line.hasSuffix("Trying again in 10:00 (1 of 3).") {
            waiting += 1
            if waiting == count { process.signal(SIGINT) }
        }
        #expect(waiting == count)
        #expect(await process.exitCode == 130)
        #expect(folder.names.isEmpty)
    }
}
