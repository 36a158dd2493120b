import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl get --mirror", .timeLimit(.minutes(5)))
struct MirrorTests {
    static let content = GeneratedContent(size: 3_000_000, seed: 51)
    static let other = GeneratedContent(size: 3_000_000, seed: 52)

    let folder = TemporaryFolder()
    let first: LoopbackServer
    let second: LoopbackServer
    let urls: [String]

    init() throws {
        first = try LoopbackServer()
        second = try LoopbackServer()
        urls = [first, second].map { $0.url("/film.bin").absoluteString }
        second.route("/film.bin", Self.film("\"2\""))
    }

    private static func film(_ tag: String, _ content: GeneratedContent = content) -> Reply {
        .generated(content).entityTag(tag)
    }

    private func get(_ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", urls[0], "--mirror", urls[1]] + options, in: folder)
    }

    private func isWhole() throws -> Bool {
        try folder.names == ["film.bin"] && Self.content.matches(fileAt: folder.file("film.bin"))
    }

    /// What a server was asked for: the method, and the range if there was one.
    private func asked(_ server: LoopbackServer) -> [String] {
        server.requests.map { [$0.method, $0.fields["Range"]].compactMap(\.self).joined(separator: " ") }
    }

    @Test(
        "is requested when the URL before it has failed",
        arguments: [
            .status(404), .status(503), .text("x").cut(at: .beforeHead), film("\"1\"").cut(afterBytes: 1_000_000),
        ] as [Reply])
    func failure(reply: Reply) async throws {
        first.route("/film.bin", reply)
        let (code, lines) = try await get()
        #expect(code == 0)
        #expect(lines.contains { $0.hasSuffix(" Trying \(urls[1])") })
        #expect(try isWhole())
        #expect(asked(first) == ["GET"])
    }

    @Test("is requested when there is no server at the URL before it, and not when that one has the file")
    func order() async throws {
        let words = ["get", "http://127.0.0.1:1/film.bin", "--mirror", urls[1], "--mirror", urls[0], "-o", "film.bin"]
        #expect(try await PurlProcess.run(words, in: folder).exitCode == 0)
        #expect(try isWhole())
        #expect(first.requests.isEmpty)
    }

    @Test("is requested after the retries of the URL before it, and has as many of its own")
    func retries() async throws {
        first.route("/film.bin", .status(503))
        second.route("/film.bin", .sequence([.status(503), Self.film("\"2\"")]))
        #expect(try await get("--retry", "1").exitCode == 0)
        #expect(first.requests.count == 2)
        #expect(second.requests.count == 2)
    }

    @Test("continues bytes of the other server under a checksum, and is asked for its own validator")
    func joined() async throws {
        first.route("/film.bin", Self.film("\"1\"").cut(afterBytes: 1_000_000))
        let (code, lines) = try await get("--sha256", Self.content.sha256)
        #expect(code == 0)
        #expect(lines.contains("film.bin: resuming at 1.00 MB of 3.00 MB"))
        #expect(asked(second) == ["HEAD", "GET bytes=1000000-"])
        #expect(second.requests.last?.fields["If-Range"] == "\"2\"")
        #expect(try isWhole())
    }

    @Test("continues bytes of a server without validators, too")
    func joinedWithoutValidator() async throws {
        first.route("/film.bin", Reply.generated(Self.content).cut(afterBytes: 1_000_000))
        try folder.write("\(Self.content.sha256)  film.bin\n", to: "SHA256SUMS")
        #expect(try await get("--check", "SHA256SUMS").exitCode == 0)
        #expect(asked(second).first == "HEAD")
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("starts over without a checksum, whatever its tag", arguments: ["\"1\"", "\"2\""])
    func notJoined(tag: String) async throws {
        first.route("/film.bin", Self.film("\"1\"", Self.other).cut(afterBytes: 1_000_000))
        second.route("/film.bin", Self.film(tag))
        let (code, lines) = try await get()
        #expect(code == 0)
        #expect(lines.contains("film.bin: starting over (3.00 MB): the partial file belongs to another URL"))
        #expect(asked(second) == ["GET"])
        #expect(try isWhole())
    }

    @Test("starts over where it has a file of another length, or no answer to HEAD", arguments: [true, false])
    func cannotJoin(hasHead: Bool) async throws {
        let longer = GeneratedContent(size: 4_000_000, seed: 53)
        first.route("/film.bin", Self.film("\"1\"").cut(afterBytes: 1_000_000))
        second.route("/film.bin", method: "HEAD", hasHead ? Self.film("\"2\"", longer) : .status(405))
        second.route("/film.bin", method: "GET", Self.film("\"2\"", longer))
        #expect(try await get("--sha256", longer.sha256).exitCode == 0)
        #expect(asked(second) == ["HEAD", "GET"])
        #expect(try longer.matches(fileAt: folder.file("film.bin")))
    }

    @Test("leaves the bytes of the other server when it fails, and the next command continues there")
    func failsItself() async throws {
        first.route("/film.bin", Self.film("\"1\"").cut(afterBytes: 1_000_000, times: 1))
        second.route("/film.bin", .status(404))
        #expect(try await get().exitCode == 22)
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
        #expect(try await get().exitCode == 0)
        #expect(asked(first) == ["GET", "GET bytes=1000000-"])
        #expect(try isWhole())
    }

    @Test("is where the next command continues what it has sent", arguments: [true, false])
    func nextCommand(isNamed: Bool) async throws {
        first.route("/film.bin", .status(503))
        second.route("/film.bin", Self.film("\"2\"").cut(afterBytes: 1_000_000, times: 1))
        let options = isNamed ? ["-o", "film.bin"] : []
        let words = ["get", urls[0], "--mirror", urls[1]] + options
        #expect(try await PurlProcess.run(words, in: folder).exitCode == 1)
        #expect(try await PurlProcess.run(words, in: folder).exitCode == 0)
        #expect(asked(first) == ["GET"])
        #expect(asked(second) == ["GET", "GET bytes=1000000-"])
        #expect(try isWhole())
    }

    @Test("replaces a file with a wrong checksum")
    func wrongChecksum() async throws {
        first.route("/film.bin", Self.film("\"1\"", Self.other))
        let (code, lines) = try await get("--sha256", Self.content.sha256)
        #expect(code == 0)
        #expect(lines.contains { $0.contains("has the wrong SHA-256") && $0.hasSuffix(" Trying \(urls[1])") })
        #expect(asked(second) == ["GET"])
        #expect(try isWhole())
    }

    @Test("is asked for the whole when the bytes it has continued were wrong")
    func wrongJoin() async throws {
        first.route("/film.bin", Self.film("\"1\"", Self.other).cut(afterBytes: 1_000_000))
        #expect(try await get("--sha256", Self.content.sha256).exitCode == 0)
        #expect(asked(second) == ["HEAD", "GET bytes=1000000-", "GET"])
        #expect(try isWhole())
    }

    @Test("leaves nothing when all checksums are wrong")
    func allWrong() async throws {
        first.route("/film.bin", Self.film("\"1\"", Self.other).cut(afterBytes: 1_000_000))
        second.route("/film.bin", Self.film("\"2\"", Self.other))
        let (code, lines) = try await get("--sha256", Self.content.sha256)
        #expect(code == 1)
        #expect(lines.last?.hasSuffix("The received bytes were removed.") == true)
        #expect(folder.names.isEmpty)
    }

    @Test("has sent bytes that are resumed under the same checksum only", arguments: [true, false])
    func joinedBytes(hasChecksum: Bool) async throws {
        first.route("/film.bin", Self.film("\"1\"", Self.other).cut(afterBytes: 1_000_000))
        second.route("/film.bin", Self.film("\"2\"").cut(afterBytes: 1_000_000, times: 2))
        #expect(try await get("--sha256", Self.content.sha256).exitCode == 1)
        let options = hasChecksum ? ["--sha256", Self.content.sha256, "--mirror", urls[0]] : []
        let (code, _) = try await PurlProcess.run(["get", urls[1], "-o", "film.bin"] + options, in: folder)
        #expect(asked(second).last == "GET")
        #expect(asked(second).contains("GET bytes=2000000-") == hasChecksum)
        #expect(code == 0)
        #expect(try isWhole())
    }

    @Test("is asked by -N whether it has a newer version of what it has sent")
    func update() async throws {
        first.route("/film.bin", .status(404))
        #expect(try await get("-N").exitCode == 0)
        #expect(try await get("-N").lines == ["film.bin: up to date (3.00 MB)"])
        #expect(asked(first) == ["GET"])
        #expect(second.requests.last?.fields["If-None-Match"] == "\"2\"")
    }

    @Test("is no help where the file cannot be saved")
    func localFailure() async throws {
        first.route("/film.bin", Self.film("\"1\""))
        try folder.write("mine", to: "film.bin")
        #expect(try await get().exitCode == 1)
        #expect(second.requests.isEmpty)
        #expect(folder.contents("film.bin") == Data("mine".utf8))
    }

    @Test("is a word in the lines of an input file")
    func inputFile() async throws {
        first.route("/film.bin", .status(404))
        let words = ["get", "--input-file", "-"]
        let input = "\(urls[0]) mirror=\(urls[1]) sha256=\(Self.content.sha256)\n"
        #expect(try await PurlProcess.run(words, in: folder, input: input).exitCode == 0)
        #expect(try isWhole())
    }
}
