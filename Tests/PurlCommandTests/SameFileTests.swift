import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("Two purl get of one file at once", .timeLimit(.minutes(5)))
struct SameFileTests {
    static let content = GeneratedContent(size: 300_000, seed: 31)

    static let modes: [(options: [String], reply: @Sendable (Reply) -> Reply)] = [
        ([], { $0 }),
        (["-o", "film.bin"], { $0.throttled(bytesPerSecond: 3_000_000) }),
        (["-o", "film.bin", "--no-resume"], { $0 }),
        (["-o", "film.bin", "--retry", "2"], { $0.cut(afterBytes: 100_000, times: 1) }),
        (["--no-resume"], { $0.inPieces(of: 30_000) }),
    ]

    @Test("leave one whole file, and the one that yields says why", arguments: modes.indices)
    func rounds(mode: Int) async throws {
        let (options, reply) = Self.modes[mode]
        for _ in 0..<6 {
            let folder = TemporaryFolder()
            let server = try LoopbackServer()
            let url = server.route("/film.bin", reply(.generated(Self.content).entityTag("\"v1\"")))
            async let first = PurlProcess.run(["get", url.absoluteString] + options, in: folder)
            async let second = PurlProcess.run(["get", url.absoluteString] + options, in: folder)
            let ends = try await [first, second]
            #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
            #expect(folder.names == ["film.bin"])
            #expect(ends.contains { $0.exitCode == 0 })
            for end in ends where end.exitCode != 0 {
                #expect(end.exitCode == 1)
                let last = end.lines.last ?? ""
                #expect(
                    last.contains("is being written by another transfer") || last.contains("exists already"),
                    "\(end.lines)")
            }
        }
    }

    @Test("A download that is being written is left alone, and its process named")
    func named() async throws {
        let folder = TemporaryFolder()
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route(
            "/film.bin", .generated(Self.content).entityTag("\"v1\"").stalled(afterBytes: 0, until: gate))
        async let winner = PurlProcess.run(["get", url.absoluteString], in: folder)
        await gate.reached()
        for options in [[], ["--no-resume"], ["-o", "film.bin", "--no-resume"]] {
            let (code, lines) = try await PurlProcess.run(["get", url.absoluteString] + options, in: folder)
            #expect(code == 1)
            #expect(
                lines.last?.wholeMatch(
                    of: #/purl: “film.bin.part” is being written by another transfer \(process \d+\)\./#) != nil,
                "\(lines)")
            #expect(folder.names.contains("film.bin.part"))
        }
        gate.open()
        #expect(try await winner.exitCode == 0)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("A folder in which nothing can be created is found out before the request")
    func readOnlyFolder() async throws {
        let folder = TemporaryFolder()
        let server = try LoopbackServer()
        let url = server.route("/film.bin", .generated(Self.content))
        let (code, lines) = try await PurlProcess.run(["get", url.absoluteString, "-o", "/proc/film.bin"], in: folder)
        #expect(code == 1)
        #expect(lines.last?.contains("“/proc/film.bin.part” cannot be written: ") == true)
        #expect(server.requests.isEmpty)
    }
}

@Suite("purl get -N and --max-filesize", .timeLimit(.minutes(5)))
struct UpdateTests {
    static let content = GeneratedContent(size: 300_000, seed: 31)
    private static let date = Date(timeIntervalSince1970: 784_111_777)

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws { server = try LoopbackServer() }

    private func get(_ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", server.url("/film.bin").absoluteString] + options, in: folder)
    }

    @Test("A file that has not changed is up to date, by its tag or its date", arguments: [true, false])
    func unchanged(hasTag: Bool) async throws {
        let reply = Reply.generated(Self.content).lastModified(Self.date)
        server.route("/film.bin", hasTag ? reply.entityTag("\"v1\"") : reply)
        #expect(try await get("-N").exitCode == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("film.bin").path)
        #expect(attributes[.modificationDate] as? Date == Self.date)
        let (code, lines) = try await get("-N")
        #expect(code == 0)
        #expect(lines == ["film.bin: up to date (300 kB)"])
        #expect(server.requests.count == 2)
        #expect(server.requests.last?.fields["If-None-Match"] == (hasTag ? "\"v1\"" : nil))
        #expect(
            server.requests.last?.fields["If-Modified-Since"] == (hasTag ? nil : "Sun, 06 Nov 1994 08:49:37 GMT"))
        #expect(folder.names == ["film.bin", "film.bin.resume"])
    }

    @Test("A newer version replaces the file; one that is cut off leaves the old file, and is resumed")
    func changed() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        let newer = GeneratedContent(size: 400_000, seed: 32)
        server.route("/film.bin", .generated(newer).entityTag("\"v2\"").cut(afterBytes: 100_000, times: 1))
        #expect(try await get("-N").exitCode == 1)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        #expect(folder.names == ["film.bin", "film.bin.part", "film.bin.resume", "film.bin.resume.old"])
        #expect(try await get("-N").exitCode == 0)
        #expect(server.requests.last?.fields["Range"] == "bytes=100000-")
        #expect(server.requests.last?.fields["If-None-Match"] == nil)
        #expect(try newer.matches(fileAt: folder.file("film.bin")))
        #expect(folder.names == ["film.bin", "film.bin.resume"])
        #expect(try await get("-N").lines == ["film.bin: up to date (400 kB)"])
    }

    @Test("A newer version that was cut off does not replace a file that another program has changed meanwhile")
    func changedMeanwhile() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        let newer = Reply.generated(GeneratedContent(size: 400_000, seed: 32)).entityTag("\"v2\"")
        server.route("/film.bin", newer.cut(afterBytes: 100_000, times: 1))
        #expect(try await get("-N").exitCode == 1)
        try folder.write("mine", to: "film.bin")
        let (code, lines) = try await get("-N")
        #expect(code == 1)
        #expect(lines.last?.hasPrefix("purl: “film.bin” exists already.") == true)
        #expect(folder.contents("film.bin") == Data("mine".utf8))
    }

    @Test("Nor does one during which another program changes the file: what has arrived stays beside it")
    func changedWhileArriving() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        let newer = GeneratedContent(size: 400_000, seed: 32)
        let gate = ServerGate()
        server.route("/film.bin", .generated(newer).entityTag("\"v2\"").stalled(afterBytes: 100_000, until: gate))
        async let update = get("-N")
        await gate.reached()
        try folder.write("mine", to: "film.bin")
        gate.open()
        let (code, lines) = try await update
        #expect(code == 1)
        #expect(lines.last?.hasPrefix("purl: “film.bin” was created or changed meanwhile.") == true)
        #expect(folder.contents("film.bin") == Data("mine".utf8))
        #expect(try newer.matches(fileAt: folder.file("film.bin.part")))
    }

    @Test("A newer version for which the disk has no room, or with a wrong checksum, leaves the file and its record")
    func failedUpdate() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        server.route(
            "/film.bin",
            .raw(
                ["HTTP/1.1 200 OK\r\nETag: \"v2\"\r\nContent-Length: 4000000000000000000\r\n\r\nx"].map {
                    Data($0.utf8)
                }, then: .keepOpen))
        #expect(try await get("-N").exitCode == 1)
        server.route("/film.bin", .generated(GeneratedContent(size: 400_000, seed: 32)).entityTag("\"v2\""))
        #expect(try await get("-N", "--sha256", String(repeating: "0", count: 64)).exitCode == 1)
        #expect(folder.names == ["film.bin", "film.bin.resume"])
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").lines == ["film.bin: up to date (300 kB)"])
    }

    @Test(
        "Without -N, a download over the file that fails leaves the file and its record, too",
        arguments: [[], ["--no-resume"]])
    func failedWithoutUpdate(_ options: [String]) async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        let record = folder.contents("film.bin.resume")
        let words = ["get", server.url("/film.bin").absoluteString, "-o", "film.bin"] + options
        let wrong = ["--sha256", String(repeating: "0", count: 64)]
        #expect(try await PurlProcess.run(words + wrong, in: folder).exitCode == 1)
        #expect(folder.names == ["film.bin", "film.bin.resume"])
        #expect(folder.contents("film.bin.resume") == record)
        server.route("/film.bin", .text("Gone.").status(404))
        #expect(try await PurlProcess.run(words, in: folder).exitCode == (options.isEmpty ? 0 : 22))
        #expect(folder.names == ["film.bin"] + (options.isEmpty ? [] : ["film.bin.resume"]))
    }

    @Test("A file that is not purl's, under the name for the old version's record, is left alone")
    func foreignOldRecord() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        try folder.write("mine", to: "film.bin.resume.old")
        server.route("/film.bin", .generated(GeneratedContent(size: 400_000, seed: 32)).entityTag("\"v2\""))
        let (code, lines) = try await get("-N")
        #expect(code == 1)
        #expect(lines.last?.hasPrefix("purl: “film.bin.resume.old” is not a record of purl's.") == true)
        #expect(folder.contents("film.bin.resume.old") == Data("mine".utf8))
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("A file that another program has made, or changed, is not taken for a version of the server's")
    func foreign() async throws {
        try Data("mine".utf8).write(to: folder.file("film.bin"))
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 1)
        #expect(folder.contents("film.bin") == Data("mine".utf8))
        #expect(try await get("-N", "-o", "film.bin").exitCode == 0)
        #expect(server.requests.last?.fields["If-None-Match"] == nil)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("A file with another checksum than the expected one is not up to date")
    func otherChecksum() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        let wrong = String(repeating: "0", count: 64)
        #expect(try await get("-N", "--sha256", wrong).exitCode == 1)
        #expect(server.requests.last?.fields["If-None-Match"] == nil)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        let newer = GeneratedContent(size: 400_000, seed: 32)
        server.route("/film.bin", .generated(newer).entityTag("\"v2\""))
        #expect(try await get("-N", "-o", "film.bin", "--sha256", newer.sha256).exitCode == 0)
        #expect(try newer.matches(fileAt: folder.file("film.bin")))
    }

    @Test("A server's error leaves the file and its tag")
    func serverError() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").exitCode == 0)
        server.route("/film.bin", .status(503))
        #expect(try await get("-N").exitCode == 22)
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        #expect(try await get("-N").lines == ["film.bin: up to date (300 kB)"])
    }

    @Test("A file longer than --max-filesize is refused, by its length or when it arrives", arguments: [true, false])
    func maximum(hasLength: Bool) async throws {
        let reply = Reply.generated(Self.content)
        server.route("/film.bin", hasLength ? reply : reply.chunked())
        let (code, lines) = try await get("--max-filesize", "200K", "--retry", "3")
        #expect(code == 1)
        let sentence =
            hasLength
            ? "“film.bin” has 300 kB, more than --max-filesize allows (205 kB)."
            : "“film.bin” is longer than --max-filesize allows (205 kB)."
        #expect(lines.last == "purl: \(sentence)")
        #expect(server.requests.count == 1)
        #expect(!folder.names.contains("film.bin"))
        #expect(try await get("--max-filesize", "300000").exitCode == 0)
    }

    @Test("A file for which the disk has no room is an error at once, and the old file stays")
    func noRoom() async throws {
        try Data("old".utf8).write(to: folder.file("film.bin"))
        server.route(
            "/film.bin",
            .raw(
                ["HTTP/1.1 200 OK\r\nContent-Length: 4000000000000000000\r\n\r\nx"].map { Data($0.utf8) },
                then: .keepOpen))
        let (code, lines) = try await get("-o", "film.bin")
        #expect(code == 1)
        #expect(lines.count == 2)
        #expect(folder.contents("film.bin") == Data("old".utf8))
        #expect(folder.names == ["film.bin"])
    }

    @Test("A length that no file has leaves nothing", arguments: [.max, .max / 2 + 1, .max / 2] as [Int64])
    func absurdLength(length: Int64) async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(length)\r\n\r\nx"
        server.route("/film.bin", .raw([Data(head.utf8)], then: .keepOpen))
        let (code, lines) = try await get()
        #expect(code == 1)
        #expect(lines.last?.contains("film.bin.part could not be written") == true)
        #expect(folder.names.isEmpty)
    }
}
