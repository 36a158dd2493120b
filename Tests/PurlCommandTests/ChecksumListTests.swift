import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("A list of checksums")
struct ChecksumListTests {
    static let a = String(repeating: "0a", count: 32)
    static let b = String(repeating: "0B", count: 32)

    private func list(_ bytes: Data) throws(CommandFailure) -> ChecksumList {
        try ChecksumList(bytes: bytes, name: "“SHA256SUMS”")
    }

    private func sentence(_ body: () throws -> some Any) -> String? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? CommandFailure)?.sentence ?? "\(error)"
        }
    }

    @Test(
        "is what sha256sum writes and reads",
        arguments: [
            ("\(a)  film", "film"), ("\(a) *film\n", "film"), ("\(a)  film\r\n", "film"), ("  \(a)  film", "film"),
            ("\(b)  film", "film"), ("\(a) film", "film"), ("\(a)\tfilm", "film"), ("\(a)   film", " film"),
            ("# a comment\n\n\(a)  film\n", "film"), ("\(a)  # film", "# film"), ("\(a)  a film", "a film"),
            ("\(a)  ./film", "film"), ("\(a)  film", "./film"), ("\(a)  film", "folder/film"),
            ("\(a)  folder/film", "film"), ("\(a)  folder/film\n\(a)  other/film", "film"),
            ("\(b)  other/film\n\(a)  film", "film"), ("\(a)  film\n\(a)  film", "film"),
            ("\\\(a)  x\\ny", "x\ny"), ("\\\(a)  x\\\\y", "x\\y"), ("\\\(a) *x\\ry", "x\ry"), ("\(a)  x\\ny", "x\\ny"),
            ("SHA256 (film) = \(a)", "film"), ("SHA256(film)= \(a)", "film"), ("SHA256 (a (b) c) = \(a)", "a (b) c"),
            ("\\SHA256 (x\\ny) = \(a)", "x\ny"), ("SHA512 (film) = \(b)\nSHA256 (film) = \(a)", "film"),
            (
                "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n\(a)  film\n-----BEGIN PGP SIGNATURE-----\n\niQ\n",
                "film"
            ),
        ])
    func lines(text: String, name: String) throws {
        let expected = text.hasPrefix(Self.b) && !text.contains(Self.a) ? Self.b : Self.a
        #expect(try list(Data(text.utf8)).checksum(of: name) == Checksum(expected))
    }

    @Test("may have names that are not UTF-8, which are no names of purl's")
    func otherNames() throws {
        let text = Data("\(Self.a)  x".utf8) + [0xFF, 0x0A] + Data("\(Self.b)  film".utf8)
        #expect(try list(text).checksum(of: "film") == Checksum(Self.b))
    }

    @Test(
        "is refused with the number of the wrong line",
        arguments: [
            ("", "There is no SHA-256 in “SHA256SUMS”."),
            ("# film", "There is no SHA-256 in “SHA256SUMS”."),
            ("SHA512 (film) = \(a)\(a)", "There is no SHA-256 in “SHA256SUMS”."),
            ("<html>", wrong(1, "<html>")), ("\(a)  film\nfilm", wrong(2, "film")),
            (" # film", wrong(1, " # film")), ("\(a.dropLast())  x", wrong(1, "\(a.dropLast())  x")),
            ("\(a)0  film", wrong(1, "\(a)0  film")), (a, wrong(1, a)), ("\(a)  ", wrong(1, "\(a)  ")),
            ("\\\(a)  x\\t", wrong(1, "\\\(a)  x\\t")), ("\\\(a)  x\\", wrong(1, "\\\(a)  x\\")),
            ("\(a)  x\0\(a)  y", wrong(1, "\(a)  x\0\(a.prefix(12))")),
            ("SHA256 (film) = 0", wrong(1, "SHA256 (film) = 0")),
            ("SHA256 (film", wrong(1, "SHA256 (film")), ("MD5 (film) = none", wrong(1, "MD5 (film) = none")),
            ("sha256 (film) = \(a)x", wrong(1, String("sha256 (film) = \(a)x".prefix(80)))),
            (
                "\(a)  film\n\n\(b)  ./film",
                "Line 3 of “SHA256SUMS”: “film” has another SHA-256 in line 1."
            ),
        ])
    func refusals(text: String, sentence expected: String) {
        #expect(sentence { try list(Data(text.utf8)) } == expected)
    }

    private static func wrong(_ line: Int, _ text: String) -> String {
        "Line \(line) of “SHA256SUMS” is not a SHA-256 and a name, as sha256sum writes them: “\(text)”."
    }

    @Test("has no checksum for a name that is not in it, or is that of two different files")
    func missing() throws {
        let list = try list(Data("\(Self.a)  a/film\n\(Self.b)  b/film\n".utf8))
        #expect(sentence { try list.checksum(of: "movie") } == "“movie” is not in “SHA256SUMS”.")
        #expect(
            sentence { try list.checksum(of: "film") }
                == "“film” may be either file in lines 1 and 2 of “SHA256SUMS”. Use --sha256.")
        #expect(try list.checksum(of: "b/film") == Checksum(Self.b))
    }
}

@Suite("purl get --check", .timeLimit(.minutes(5)))
struct CheckTests {
    static let film = GeneratedContent(size: 300_000, seed: 41)
    static let song = GeneratedContent(size: 200_000, seed: 42)

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let urls: [String]

    init() throws {
        server = try LoopbackServer()
        urls = [
            server.route("/film.bin", .generated(Self.film).entityTag("\"f\"")).absoluteString,
            server.route("/song.bin", .generated(Self.song).entityTag("\"s\"")).absoluteString,
        ]
    }

    private func get(_ words: [String], input: String = "") async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get"] + words, in: folder, input: input)
    }

    private func writeList(_ film: String = film.sha256, _ song: String = song.sha256) throws {
        try folder.write("\(film)  film.bin\n\(song) *song.bin\n", to: "SHA256SUMS")
    }

    @Test("compares each of several files with its line, and requests none that are right")
    func several() async throws {
        try writeList()
        #expect(try await get(urls + ["--check", "SHA256SUMS"]).exitCode == 0)
        #expect(try Self.film.matches(fileAt: folder.file("film.bin")))
        #expect(try Self.song.matches(fileAt: folder.file("song.bin")))
        #expect(try await get(urls + ["--check", "SHA256SUMS"]).exitCode == 0)
        #expect(server.requests.count == 2)
    }

    @Test("removes the file whose checksum is wrong, and keeps the others")
    func wrong() async throws {
        let zeros = String(repeating: "0", count: 64)
        try writeList(zeros)
        let (code, lines) = try await get(urls + ["--check", "SHA256SUMS"])
        #expect(code == 1)
        #expect(
            lines.contains(
                "purl: \(urls[0]): “film.bin” has the wrong SHA-256: \(Self.film.sha256) instead of \(zeros)."
                    + " The received bytes were removed."))
        #expect(folder.names.filter { !$0.hasSuffix(".resume") } == ["SHA256SUMS", "song.bin"])
    }

    @Test("reads the list from standard input, and takes a checksum in an input file's line before it")
    func standardInput() async throws {
        try folder.write("\(urls[0])\n\(urls[1]) sha256=\(Self.song.sha256)\n", to: "list")
        let (code, _) = try await get(
            ["--input-file", "list", "--check", "-"], input: "\(Self.film.sha256)  film.bin\n")
        #expect(code == 0)
        #expect(folder.names == ["film.bin", "list", "song.bin"])
    }

    @Test("fails before the request for a name of the user's that is not in the list")
    func unlistedOutput() async throws {
        try writeList()
        let (code, lines) = try await get([urls[0], "-o", "movie.bin", "--check", "SHA256SUMS"])
        #expect(code == 1)
        #expect(lines == ["purl: “movie.bin” is not in “SHA256SUMS”."])
        #expect(server.requests.isEmpty)
        #expect(folder.names == ["SHA256SUMS"])
    }

    @Test("takes the name that the server suggests, and refuses the file if that is not in the list")
    func suggestedName() async throws {
        try writeList()
        let suggestion = "attachment; filename=song.bin"
        let url = server.route("/download", .generated(Self.song).field("Content-Disposition", suggestion))
        #expect(try await get([url.absoluteString, "--check", "SHA256SUMS"]).exitCode == 0)
        #expect(try Self.song.matches(fileAt: folder.file("song.bin")))
        let other = server.route("/other", .generated(Self.song)).absoluteString
        let (code, lines) = try await get([other, "--check", "SHA256SUMS"])
        #expect(code == 1)
        #expect(lines == ["purl: “other” is not in “SHA256SUMS”."])
        #expect(folder.names == ["SHA256SUMS", "song.bin"])
    }

    @Test("requests nothing when the list is wrong or missing")
    func unreadable() async throws {
        try folder.write("<html>\n", to: "SHA256SUMS")
        let (code, lines) = try await get(urls + ["--check", "SHA256SUMS"])
        #expect(code == 1)
        #expect(
            lines == ["purl: Line 1 of “SHA256SUMS” is not a SHA-256 and a name, as sha256sum writes them: “<html>”."])
        #expect(try await get(urls + ["--check", "none"]) == (1, ["purl: There is no file “none”."]))
        #expect(server.requests.isEmpty)
    }
}
