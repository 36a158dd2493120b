import Foundation
import PurlTesting
import Testing

@Suite("purl get", .timeLimit(.minutes(5)))
struct GetTests {
    static let content = GeneratedContent(size: 4_000_000, seed: 1)

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func get(_ url: URL, _ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", url.absoluteString] + options, in: folder)
    }

    private var film: Reply { .generated(Self.content).entityTag("\"v1\"") }

    @Test("saves the file under the URL's name, and prints its progress")
    func download() async throws {
        let url = server.route("/film.bin", film)
        let (code, lines) = try await get(url, "-H", "X-Mine: yes")
        #expect(code == 0)
        #expect(lines.first == "film.bin: downloading (4.00 MB)")
        #expect(lines.contains { $0.hasPrefix("100 %  4.00 MB of 4.00 MB") })
        #expect(lines.last?.hasPrefix("film.bin: complete, 4.00 MB in ") == true)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        #expect(server.requests.map { $0.fields["X-Mine"] } == ["yes"])
    }

    @Test("keeps to the rate limit, and completes the file")
    func limitedRate() async throws {
        let url = server.route("/film.bin", film)
        let clock = ContinuousClock()
        let start = clock.now
        let (code, lines) = try await get(url, "--limit-rate", "4M")
        #expect(code == 0)
        #expect(lines.last?.hasPrefix("film.bin: complete, 4.00 MB in ") == true)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        // The first sixteenth of a second's bytes may arrive at once; the rest takes its time on any machine.
        #expect(start.duration(to: clock.now) >= .milliseconds(890))
    }

    @Test("keeps the bytes when interrupted, and resumes from them", arguments: [SIGINT, SIGTERM])
    func interruption(signal: Int32) async throws {
        let gate = ServerGate()
        let url = server.route("/film.bin", film.stalled(afterBytes: 1_500_000, until: gate, times: 1))
        let first = try PurlProcess(["get", url.absoluteString], in: folder)
        var last = ""
        for await line in first.lines {
            last = line
            if line.hasPrefix("3"), line.contains(" %") { first.signal(signal) }
        }
        #expect(await first.exitCode == 130)
        #expect(
            last.hasPrefix("film.bin: 1.")
                && last.hasSuffix("MB of 4.00 MB saved; the same command resumes the download"))
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
        let length = folder.contents("film.bin.part").count
        #expect(length > 0)
        #expect(Self.content.matches(folder.contents("film.bin.part")))

        let (code, lines) = try await get(url)
        #expect(code == 0)
        #expect(lines.first?.hasPrefix("film.bin: resuming at 1.") == true)
        let rest = await server.waitUntilIdle().last
        #expect(rest?.fields["Range"] == "bytes=\(length)-")
        #expect(rest?.fields["If-Range"] == "\"v1\"")
        #expect(rest?.bytesSent == Self.content.size - length)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("leaves files of this machine to other commands")
    func localFile() async throws {
        try Data("film".utf8).write(to: folder.file("film.bin"))
        let (code, lines) = try await get(folder.file("film.bin"), "-o", "copy")
        #expect(code == 2)
        #expect(lines.last?.contains("begins with “file”. What purl loads: “http”, “https”.") == true)
        #expect(folder.names == ["film.bin"])
    }

    @Test("fails after a lost connection, and starts over when the file has changed meanwhile")
    func change() async throws {
        let newContent = GeneratedContent(size: 3_000_000, seed: 2)
        let url = server.route(
            "/film.bin",
            film.cut(afterBytes: 1_000_000).switching(after: 1, to: .generated(newContent).entityTag("\"v2\"")))
        let (lost, words) = try await get(url, "-o", "my film")
        #expect(lost == 1)
        #expect(words.contains("purl: The connection was lost in the middle of the response."))
        #expect(words.last == "my film: 1.00 MB of 4.00 MB saved; the same command resumes the download")
        #expect(folder.names == ["my film.part", "my film.resume"])

        let (code, lines) = try await get(url, "-o", "my film")
        #expect(code == 0)
        #expect(lines.first == "my film: starting over (3.00 MB): the file has changed on the server")
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=1000000-"])
        #expect(folder.names == ["my film"])
        #expect(try newContent.matches(fileAt: folder.file("my film")))
    }

    @Test("starts over when the server does not support resuming")
    func withoutResuming() async throws {
        let url = server.route("/film.bin", .generated(Self.content).cut(afterBytes: 1_000_000, times: 1))
        let (lost, words) = try await get(url)
        #expect(lost == 1)
        #expect(words.last?.contains("this server does not support resuming") == true)
        let (code, lines) = try await get(url)
        #expect(code == 0)
        #expect(lines.first?.contains("starting over") == true)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("keeps the partial files when the server answers with an error page", arguments: [404, 503])
    func errorPage(status: Int) async throws {
        let page = Reply.text("Come back later.").status(status)
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000).switching(after: 1, to: page))
        #expect(try await get(url).exitCode == 1)
        let parts = [folder.contents("film.bin.part"), folder.contents("film.bin.resume")]
        let (code, lines) = try await get(url)
        #expect(code == 22)
        #expect(lines.first?.hasPrefix("purl: \(url.absoluteString): The server answered \(status) (") == true)
        #expect([folder.contents("film.bin.part"), folder.contents("film.bin.resume")] == parts)
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
    }

    @Test("leaves no files after an error page")
    func errorPageAlone() async throws {
        #expect(try await get(server.url("/missing")).exitCode == 22)
        #expect(folder.names.isEmpty)
    }

    @Test(
        "saves as index.html where neither the URL nor the server has a name",
        arguments: [
            ("/", nil, "index.html"), ("/films/", nil, "index.html"), ("/films/", "film.bin", "film.bin"),
            ("/films/", "films", "films"),
        ] as [(String, String?, String)])
    func withoutName(path: String, given: String?, name: String) async throws {
        let disposition = given.map { "attachment; filename=\"\($0)\"" } ?? "inline"
        let url = server.route(path, film.field("Content-Disposition", disposition))
        #expect(try await get(url).exitCode == 0)
        #expect(folder.names == [name])
    }

    @Test("keeps the URL's name where the server redirects to a URL without one")
    func redirectToFolder() async throws {
        server.route("/v2/", film)
        let url = server.route("/latest", .redirect(to: "/v2/"))
        #expect(try await get(url).exitCode == 0)
        #expect(folder.names == ["latest"])
    }

    @Test("saves under the name that the server gives, and finds the partial files under it again")
    func serverName() async throws {
        let reply = film.field("Content-Disposition", "attachment; filename=\"../film one.mkv\"")
        let url = server.route("/download", reply.cut(afterBytes: 1_000_000, times: 1))
        #expect(try await get(url).exitCode == 1)
        #expect(folder.names == ["_film one.mkv.part", "_film one.mkv.resume"])
        #expect(try await get(url, "-q") == (0, []))
        #expect(folder.names == ["_film one.mkv"])
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=1000000-"])
        #expect(try Self.content.matches(fileAt: folder.file("_film one.mkv")))
    }

    @Test("never replaces a file that was not named with -o")
    func existingFile() async throws {
        try folder.write("precious", to: "film.bin")
        let url = server.route("/film.bin", film.stalled(afterBytes: 1000, times: 1))
        let (code, lines) = try await get(url)
        #expect(code == 1)
        #expect(lines == ["purl: “film.bin” exists already. Choose a name with -o, or “-o film.bin” to replace it."])
        #expect(folder.contents("film.bin") == Data("precious".utf8))
        #expect(folder.names == ["film.bin"])

        #expect(try await get(url, "-o", "film.bin").exitCode == 0)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("uses and keeps no partial files with --no-resume")
    func noResume() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 2))
        #expect(try await get(url).exitCode == 1)
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
        #expect(try await get(url, "--no-resume").exitCode == 1)
        #expect(folder.names.isEmpty)
        #expect(try await get(url, "--no-resume").exitCode == 0)
        #expect(server.requests.map { $0.fields["Range"] } == [nil, nil, nil])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("completes the file when the server answers that no bytes are missing")
    func nothingMissing() async throws {
        // The last chunk's end is lost, so the length stays unknown.
        let url = server.route("/film.bin", film.chunked().cut(afterBytes: Self.content.size, times: 1))
        #expect(try await get(url).exitCode == 1)
        let (code, lines) = try await get(url)
        #expect(code == 0)
        #expect(lines == ["film.bin: already complete (4.00 MB)"])
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=4000000-"])
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("prints requests, responses and delegate calls with -v")
    func verbose() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 1))
        _ = try await get(url)
        let (_, lines) = try await get(url, "-v")
        #expect(
            lines.starts(with: [
                "> GET \(url.absoluteString)", "> Accept: */*", "> Accept-Encoding: identity",
                "> Host: 127.0.0.1:\(server.port)",
                "> If-Range: \"v1\"", "> Range: bytes=1000000-", "> User-Agent: Purl/1.0",
                "> Want-Repr-Digest: sha-256=10", "< 206 Partial Content",
            ]))
        #expect(lines.contains("* didReceive response: allow"))
        #expect(lines.contains("* didCompleteWithError: nil"))
    }

    @Test("prints in one order what -v shows: request, response, what is done with it, the answer, the end")
    func order() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 1))
        _ = try await get(url)
        let (_, lines) = try await get(url, "-v")
        let told = lines.filter { !$0.contains(" %  ") && !$0.hasPrefix("> ") && !$0.hasPrefix("< ") }
        #expect(
            told.dropLast() == [
                "film.bin: resuming at 1.00 MB of 4.00 MB", "* didReceive response: allow",
                "* didCompleteWithError: nil",
            ])
        #expect(told.last?.hasPrefix("film.bin: complete, ") == true)
        let request = try #require(lines.lastIndex { $0.hasPrefix("> ") })
        let response = try #require(lines.firstIndex { $0.hasPrefix("< ") })
        #expect(request < response)
    }

    @Test(
        "exits with the code of the error",
        arguments: [
            (["get"], 2, "purl: The URL is missing. See “purl get --help”."),
            (["frobnicate"], 2, "purl: There is no command “frobnicate”. See “purl help”."),
            (["gte"], 2, "purl: There is no command “gte”: did you mean “get”? See “purl help”."),
            (
                ["get", "--outptu=x"], 2,
                "purl: There is no option “--outptu”: did you mean “--output”? See “purl get --help”."
            ),
            (["get", "--key=k", "https://host/file"], 2, "purl: “--key” needs “--cert”. See “purl get --help”."),
            (["get", "http://127.0.0.1/x", "-o", "no/where"], 1, "purl: There is no folder “no”."),
            (["--version"], 0, "purl 1.0-dev"),
        ] as [([String], Int32, String)])
    func exitCodes(arguments: [String], code: Int32, sentence: String) async throws {
        let result = try await PurlProcess.run(arguments, in: folder)
        #expect(result.exitCode == code)
        #expect(result.lines == [sentence])
        #expect(folder.names.isEmpty)
    }
}
