import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl get with several URLs", .timeLimit(.minutes(5)))
struct SeveralTests {
    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func get(_ words: [String], input: String = "") async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get"] + words, in: folder, input: input)
    }

    private static func content(_ seed: UInt64) -> GeneratedContent { GeneratedContent(size: 4_000_000, seed: seed) }

    private static func film(_ seed: UInt64) -> Reply { .generated(content(seed)).entityTag("\"v\(seed)\"") }

    /// Routes `/a.bin`, `/b.bin` … to different files, and returns their URLs.
    private func routeFilms(_ names: String = "abcd", _ change: (Reply) -> Reply = { $0 }) -> [String] {
        names.utf8.map { letter in
            let path = "/\(Character(UnicodeScalar(letter))).bin"
            return server.route(path, change(Self.film(UInt64(letter)))).absoluteString
        }
    }

    private func areWhole(_ names: String) throws -> Bool {
        try names.utf8.allSatisfy { letter in
            let file = folder.file("\(Character(UnicodeScalar(letter))).bin")
            return try Self.content(UInt64(letter)).matches(fileAt: file)
        }
    }

    /// The number in "a.bin: 61 %  …".
    private static func percent(_ line: String) -> Int? {
        let words = line.split(separator: " ")
        return words.count > 2 && words[2] == "%" ? Int(words[1]) : nil
    }

    @Test("saves each file under its name, removes the records, and prints a summary")
    func downloads() async throws {
        let (code, lines) = try await get(routeFilms())
        #expect(code == 0)
        #expect(folder.names == ["a.bin", "b.bin", "c.bin", "d.bin"])
        #expect(try areWhole("abcd"))
        for name in folder.names {
            #expect(lines.contains("\(name): downloading (4.00 MB)"))
            #expect(lines.contains { $0.hasPrefix("\(name): 100 %  4.00 MB of 4.00 MB") })
            #expect(lines.contains { $0.hasPrefix("\(name): complete, 4.00 MB in ") })
        }
        #expect(lines.last?.hasPrefix("4 files complete, 16.0 MB in ") == true)
    }

    @Test("downloads as many at once as -P allows, and the others in order")
    func limit() async throws {
        let gate = ServerGate()
        let urls = routeFilms("ab") { $0.stalled(afterBytes: 1000, until: gate) } + routeFilms("cd")
        let process = try PurlProcess(["get", "-P", "2"] + urls, in: folder)
        await server.wait { record in record.requests.filter { $0.bytesSent == 1000 }.count == 2 }
        #expect(server.requests.map(\.path).sorted() == ["/a.bin", "/b.bin"])
        gate.open()
        #expect(await process.exitCode == 0)
        #expect(server.requests.count == 4)
        #expect(folder.names == ["a.bin", "b.bin", "c.bin", "d.bin"])

        let one = try PurlProcess(["get", "-P", "1", "--no-resume"] + routeFilms("efg"), in: folder)
        #expect(await one.exitCode == 0)
        #expect(server.requests.suffix(3).map(\.path) == ["/e.bin", "/f.bin", "/g.bin"])
        #expect(Set(server.requests.suffix(3).map(\.connection)).count == 1)
    }

    @Test("downloads the same URL once")
    func twice() async throws {
        let urls = routeFilms("a")
        #expect(try await get(urls + urls).exitCode == 0)
        #expect(server.requests.count == 1)
    }

    @Test("resumes all after being killed, and skips complete files")
    func killed() async throws {
        let gate = ServerGate()
        // Slow enough for records to be saved, and never complete.
        let slow = { (film: Reply) in
            film.throttled(bytesPerSecond: 1_500_000).stalled(afterBytes: 3_000_000, until: gate)
        }
        let urls =
            routeFilms("a") + routeFilms("bc", slow)
            + routeFilms("d") { $0.delayed(until: gate) }
        let process = try PurlProcess(["get", "-P", "3"] + urls, in: folder)
        var halfway: Set<Character> = []
        var isFirstComplete = false
        for await line in process.lines {
            if line.hasPrefix("a.bin: complete, ") { isFirstComplete = true }
            // After more than a second their records have been saved.
            if let name = line.first, let percent = Self.percent(line), percent >= 60 { halfway.insert(name) }
            if isFirstComplete, halfway.isSuperset(of: ["b", "c"]) {
                // The last one has been locked before it is requested.
                await server.wait { $0.requests.contains { $0.path == "/d.bin" } }
                process.signal(SIGKILL)
            }
        }
        #expect(await process.exitCode == -SIGKILL)
        #expect(
            folder.names.filter { !$0.hasSuffix(".new") }
                == [
                    "a.bin", "a.bin.resume", "b.bin.part", "b.bin.resume", "c.bin.part", "c.bin.resume", "d.bin.part",
                ])
        // It is locked from the start.
        #expect(folder.contents("d.bin.part").isEmpty)

        server.forgetRequests()
        let (code, lines) = try await get(routeFilms())
        #expect(code == 0)
        #expect(lines.contains("a.bin: already complete (4.00 MB)"))
        #expect(lines.contains { $0.hasPrefix("b.bin: resuming at ") })
        #expect(lines.last?.hasPrefix("4 files complete, 16.0 MB, ") == true)
        let requests = server.requests.sorted { $0.path < $1.path }
        #expect(requests.map(\.path) == ["/b.bin", "/c.bin", "/d.bin"])
        #expect(requests.map { $0.fields["Range"] != nil } == [true, true, false])
        #expect(folder.names.filter { !$0.hasSuffix(".new") } == ["a.bin", "b.bin", "c.bin", "d.bin"])
        #expect(try areWhole("abcd"))
    }

    @Test("stops all when interrupted, and prints the progress of each", arguments: [SIGINT, SIGTERM])
    func interruption(signal: Int32) async throws {
        let urls = routeFilms("a") + routeFilms("bcd") { $0.stalled(afterBytes: 1_500_000, times: 1) }
        let process = try PurlProcess(["get", "-P", "2"] + urls, in: folder)
        var stalled: Set<Character> = []
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            if let name = line.first, name != "a", Self.percent(line) != nil, line.contains(": 3") {
                stalled.insert(name)
                if stalled == ["b", "c"] { process.signal(signal) }
            }
        }
        #expect(await process.exitCode == 130)
        for name in ["b.bin", "c.bin"] {
            #expect(
                lines.contains {
                    $0.hasPrefix("\(name): 1.") && $0.hasSuffix("saved; the same command resumes the download")
                })
        }
        #expect(lines.last?.hasPrefix("Interrupted: 1 of 4 files complete, 4.00 MB in ") == true)
        #expect(lines.last?.hasSuffix("; the same command resumes") == true)
        #expect(
            folder.names == ["a.bin", "a.bin.resume", "b.bin.part", "b.bin.resume", "c.bin.part", "c.bin.resume"])
        #expect(server.requests.map(\.path).sorted() == ["/a.bin", "/b.bin", "/c.bin"])

        #expect(try await get(routeFilms()).exitCode == 0)
        #expect(folder.names == ["a.bin", "b.bin", "c.bin", "d.bin"])
        #expect(try areWhole("abcd"))
    }

    @Test("continues with the others when one fails, and exits with the worst code")
    func failures() async throws {
        let missing = server.url("/missing").absoluteString
        let (code, lines) = try await get([missing] + routeFilms("ab"))
        #expect(code == 22)
        #expect(lines.contains("purl: \(missing): The server answered 404 (Not Found)."))
        #expect(lines.last?.hasPrefix("2 of 3 files complete, 8.00 MB in ") == true)
        #expect(lines.last?.hasSuffix("; 1 failed") == true)
        #expect(try areWhole("ab"))
        // The records of complete files are kept until all files are complete.
        #expect(folder.names == ["a.bin", "a.bin.resume", "b.bin", "b.bin.resume"])

        #expect(try await get([missing, "https://127.0.0.1/x"] + routeFilms("ab")).exitCode == 1)
        server.route("/missing", .text("found"))
        #expect(try await get([missing] + routeFilms("ab")).exitCode == 0)
        #expect(folder.names == ["a.bin", "b.bin", "missing"])
    }

    @Test("refuses the second of two downloads to the same file")
    func sameName() async throws {
        let first = server.route("/x/film.bin", Self.film(1)).absoluteString
        let second = server.route("/y/film.bin", Self.film(2)).absoluteString
        let (code, lines) = try await get([first, second])
        #expect(code == 1)
        #expect(
            lines.contains(
                "purl: \(second): “film.bin” is used for \(first). Choose another name with -o, or with out= in an"
                    + " --input-file."))
        #expect(folder.names == ["film.bin", "film.bin.resume"])
        #expect(try Self.content(1).matches(fileAt: folder.file("film.bin")))

        let list = "\(first)\n\(second) out=other.bin\n"
        #expect(try await get(["--input-file", "-"], input: list).exitCode == 0)
        #expect(folder.names == ["film.bin", "other.bin"])
        #expect(try Self.content(2).matches(fileAt: folder.file("other.bin")))
    }

    @Test("reserves a name for the URL whose partial files have it, in any order of the URLs")
    func partsGoFirst() async throws {
        let first = server.route("/x/film.bin", Self.film(1)).absoluteString
        let second = server.route("/y/film.bin", Self.film(2).cut(afterBytes: 1_000_000, times: 1)).absoluteString
        #expect(try await get([second]).exitCode == 1)
        let (code, lines) = try await get([first, second])
        #expect(code == 1)
        #expect(lines.contains { $0.hasPrefix("purl: \(first): “film.bin” is used for \(second).") })
        #expect(lines.contains("film.bin: resuming at 1.00 MB of 4.00 MB"))
        #expect(try Self.content(2).matches(fileAt: folder.file("film.bin")))
    }

    @Test("makes no request for a name that is used already")
    func wantedTwice() async throws {
        let urls = routeFilms("ab")
        let (code, lines) = try await get(["--input-file", "-"], input: "\(urls[0]) out=x\n\(urls[1]) out=x\n")
        #expect(code == 1)
        #expect(lines.first?.hasPrefix("purl: \(urls[1]): “x” is used for \(urls[0]).") == true)
        #expect(server.requests.map(\.path) == ["/a.bin"])
        #expect(folder.names == ["x", "x.resume"])
    }

    @Test("saves equal URL names under the server's different ones")
    func serverNames() async throws {
        server.route(
            "/download",
            .computed { request in
                let seed: UInt64 = request.query == "id=1" ? 1 : 2
                return Self.film(seed).field("Content-Disposition", "attachment; filename=film\(seed).bin")
            })
        let urls = ["1", "2"].map { server.url("/download?id=\($0)").absoluteString }
        #expect(try await get(urls).exitCode == 0)
        #expect(folder.names == ["film1.bin", "film2.bin"])
        #expect(try Self.content(1).matches(fileAt: folder.file("film1.bin")))
        #expect(try Self.content(2).matches(fileAt: folder.file("film2.bin")))
    }

    @Test("reads a list with names and checksums from a file or standard input")
    func inputFile() async throws {
        let urls = routeFilms("abc")
        let text = """
            # three films
            \(urls[0])

            \(urls[1])  out=second.bin sha256=\(Self.content(UInt64(UInt8(ascii: "b"))).sha256)
            \(urls[2])  sha256=\(String(repeating: "0", count: 64))   # wrong
            """
        let (code, lines) = try await get(["--input-file", "-"], input: text)
        #expect(code == 1)
        #expect(lines.contains { $0.hasPrefix("purl: \(urls[2]): “c.bin” has the wrong SHA-256") })
        #expect(folder.names == ["a.bin", "a.bin.resume", "second.bin", "second.bin.resume"])

        try folder.write("\(urls[0])\nnonsense\n", to: "list")
        let (refusal, words) = try await get(["--input-file", "list"])
        #expect(refusal == 1)
        #expect(words == ["purl: Line 2 of “list”: “nonsense” is not a URL such as http://host/file."])
        #expect(server.requests.count == 3)
    }

    @Test("recognises an empty file, which has no record")
    func emptyFile() async throws {
        let empty = server.route("/empty", .bytes(Data()).entityTag("\"e\"")).absoluteString
        #expect(try await get([empty, server.url("/missing").absoluteString]).exitCode == 22)
        #expect(try await get([empty] + routeFilms("a")).exitCode == 0)
        #expect(folder.names == ["a.bin", "empty"])
    }
}
