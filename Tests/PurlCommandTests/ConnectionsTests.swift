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

    /// The lines that the command prints while each response waits until all connections have one.
    private func getOverFour(_ options: String...) async throws -> [String] {
        let gate = ServerGate()
        let url = server.route("/film.bin", film.stalled(at: .midBody, until: gate))
        let process = try PurlProcess(["get", url.absoluteString, "--connections", "4"] + options, in: folder)
        await gate.reached(times: 4)
        gate.open()
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(await process.exitCode == 0)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        return lines
    }

    @Test("shows with -v what each connection requests and receives, with its number unless it is the first")
    func verbose() async throws {
        let lines = try await getOverFour("-v")
        let url = server.url("/film.bin")
        #expect(lines.contains("> GET \(url.absoluteString)"))
        #expect(lines.contains("< 200 OK"))
        for number in 2...4 {
            let request = try #require(lines.firstIndex(of: "> [\(number)] GET \(url.absoluteString)"))
            let response = try #require(lines.firstIndex(of: "< [\(number)] 206 Partial Content"))
            let answer = try #require(lines.firstIndex(of: "* [\(number)] didReceive response: allow"))
            #expect(request < response && response < answer)
            #expect(lines[request..<response].contains { $0.hasPrefix("> [\(number)] Range: bytes=") })
            #expect(lines[request..<response].contains("> [\(number)] If-Range: \"v1\""))
            #expect(lines.contains { $0.hasPrefix("* [\(number)] didCompleteWithError: ") })
        }
    }

    @Test("shows why a connection is given up with -v")
    func verboseRefusal() async throws {
        let film = film
        let url = server.route(
            "/film.bin", .computed { $0.fields["Range"] == nil ? film : film.ignoringRange() })
        let (code, lines) = try await get(url, "--connections", "2", "-v")
        #expect(code == 0)
        #expect(lines.contains("< [2] 200 OK"))
        #expect(lines.contains("* [2] didReceive response: cancel"))
    }

    @Test("records a lane for each connection with --trace", arguments: ["svg", "html", "txt"])
    func lanes(form: String) async throws {
        _ = try await getOverFour("--trace", "film.\(form)")
        let text = String(decoding: folder.contents("film.\(form)"), as: UTF8.self)
        for number in 1...4 { #expect(text.contains("connection \(number)")) }
        #expect(text.contains("bytes=") || form == "txt")
    }

    @Test("refuses what is not a number from 1 to 64", arguments: ["0", "65", "-1", "many", ""])
    func refused(text: String) async throws {
        let (code, lines) = try await get(server.url("/film.bin"), "--connections", text)
        #expect(code == 2)
        #expect(lines.first?.contains("--connections") == true)
        #expect(server.requests.isEmpty)
    }
}
