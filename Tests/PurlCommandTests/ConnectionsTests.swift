import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import PurlCommand

@Suite("purl get --connections", .timeLimit(.minutes(5)))
struct ConnectionsTests {
    static let content = GeneratedContent(size: 8 << 20, seed: 3)

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private var film: Reply { .generated(Self.content).entityTag("\"v1\"") }

    private func get(_ url: URL, _ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", url.absoluteString] + options, in: folder)
    }

    @Test("fetches one file over several connections", arguments: ["4", "auto"])
    func several(connections: String) async throws {
        let url = server.route("/film.bin", film)
        let (code, lines) = try await get(url, "--connections", connections)
        #expect(code == 0)
        #expect(lines.first == "film.bin: downloading (8.39 MB)")
        #expect(lines.last?.hasPrefix("film.bin: complete, 8.39 MB") == true)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        if connections == "4" { #expect(server.requests.count >= 4) }
    }

    @Test(
        "resumes after a kill without requesting again what is there, and list shows the parts", arguments: ["1", "4"])
    func kill(connections: String) async throws {
        let gate = ServerGate()
        let url = server.route("/film.bin", film.stalled(at: .midBody, until: gate))
        let process = try PurlProcess(["get", url.absoluteString, "--connections", "4", "--json"], in: folder)
        await gate.reached(times: 4)
        let present = Self.content.size / 2
        for await line in process.lines {
            let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if event?["event"] as? String == "progress", let bytes = event?["bytes"] as? Int, bytes >= present { break }
        }
        process.signal(SIGKILL)
        _ = await process.exitCode
        gate.open()
        let list = try await PurlProcess.run(["list"], in: folder)
        #expect(list.lines.first?.contains("(has 0 B–") == true)
        let unfinished = try await PurlProcess.run(["list", "--json"], in: folder)
        let event = try JSONSerialization.jsonObject(with: Data(try #require(unfinished.lines.first).utf8))
        let ranges = try #require((event as? [String: Any])?["ranges"] as? [[Int]])
        #expect(ranges.reduce(0) { $0 + $1[1] + 1 - $1[0] } >= present)
        server.forgetRequests()

        let (code, lines) = try await get(url, "--connections", connections)
        #expect(code == 0)
        #expect(lines.first?.hasPrefix("film.bin: resuming at ") == true)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        #expect(server.requests.allSatisfy { $0.fields["If-Range"] == "\"v1\"" })
        for request in server.requests {
            let numbers = try #require(request.fields["Range"]).dropFirst("bytes=".count).split(separator: "-")
            let (first, last) = (Int(numbers[0]) ?? 0, numbers.count > 1 ? Int(numbers[1]) ?? 0 : Int(numbers[0]) ?? 0)
            #expect(!ranges.contains { $0[0] <= last && first <= $0[1] })
        }
    }

    @Test("a new version replaces the parts of the old one")
    func newVersion() async throws {
        let other = GeneratedContent(size: 8 << 20, seed: 4)
        let url = server.route(
            "/film.bin", film.switching(after: 2, to: Reply.generated(other).entityTag("\"v2\"")))
        #expect(try await get(url, "--connections", "4").exitCode == 0)
        let isOld = try Self.content.matches(fileAt: folder.file("film.bin"))
        let isNew = try other.matches(fileAt: folder.file("film.bin"))
        #expect(isOld != isNew)
        #expect(folder.names == ["film.bin"])
    }

    @Test("refuses what is not a number from 1 to 64", arguments: ["0", "65", "-1", "many", ""])
    func refused(text: String) async throws {
        let (code, lines) = try await get(server.url("/film.bin"), "--connections", text)
        #expect(code == 2)
        #expect(lines.first?.contains("--connections") == true)
        #expect(server.requests.isEmpty)
    }
}
