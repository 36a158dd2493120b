import Foundation
import PurlHTTP
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("A list of pieces")
struct PieceListTests {
    private static let a = String(repeating: "0a", count: 32)
    private static let b = String(repeating: "0b", count: 32)

    let folder = TemporaryFolder()

    private func list(_ text: String, pieceLength: Int64? = nil) throws -> PieceDigests {
        try folder.write(text, to: "list")
        return try PieceDigests(ListFile(folder.file("list").path), pieceLength: pieceLength)
    }

    @Test("is read as it was written", arguments: [0, 1, 999, 1000, 1001, 5000], ["film", "a\\b", "ein Film"])
    func roundTrip(size: Int, name: String) async throws {
        try GeneratedContent(size: size, seed: 3).data.write(to: folder.file("film"))
        var whole: SHA256? = SHA256()
        let digests = try await PieceDigests.ofFile(at: folder.file("film"), pieceLength: 1000, whole: &whole)
        #expect(digests.digests.count == (size + 999) / 1000)
        #expect(whole.map { Checksum($0).hexadecimal } == GeneratedContent(size: size, seed: 3).sha256)
        #expect(try list(digests.text(name: name)) == digests)
    }

    @Test(
        "is what sha256sum writes of the parts that split makes",
        arguments: ["\(a)  xaa\n\(b)  xab\n", "\(a) *xaa\r\n\(b) *xab\r\n", "# two\n\(a)  xaa\n\n\(b)  xab"])
    func plain(text: String) throws {
        let digests = try list(text, pieceLength: 10)
        #expect(digests.digests.map(\.hexadecimal) == [Self.a, Self.b])
        #expect(digests.length == nil)
        #expect((9...22).filter { digests.fits(length: $0) } == Array(11...20))
    }

    @Test(
        "is refused with the reason",
        arguments: [
            ("", "There is no SHA-256 in "), ("# pieces of 10 bytes, 20 bytes in all\n", " has 0 lines for 2 pieces."),
            ("# pieces of 10 bytes, 20 bytes in all\n\(a)  x\n", " has 1 lines for 2 pieces."),
            ("\(a)  x\nnot this\n", "Line 2 of "),
            // What is no length is no comment of purl's.
            ("# pieces of 0 bytes, 20 bytes in all\n", "There is no SHA-256 in "),
            ("# pieces of -1 bytes, 20 bytes in all\n", "There is no SHA-256 in "),
            ("# pieces of 99999999999999999999 bytes, 1 bytes in all\n", "There is no SHA-256 in "),
            ("# pieces of 99999999 bytes, 1 bytes in all\n", "There is no SHA-256 in "),
            ("# pieces of 1 bytes, 9223372036854775807 bytes in all\n", " has 0 lines for 9223372036854775807 pieces."),
        ])
    func refusals(text: String, reason: String) {
        let error = #expect(throws: CommandFailure.self) { try list(text) }
        #expect(error?.sentence.contains(reason) == true, "\(error?.sentence ?? "")")
    }

    @Test("has one length of pieces")
    func lengths() throws {
        let text = "# pieces of 10 bytes, 10 bytes in all\n\(Self.a)  x\n"
        #expect(try list(text, pieceLength: 10).pieceLength == 10)
        #expect(throws: CommandFailure.self) { try list(text, pieceLength: 11) }
    }
}

@Suite("purl check and purl get --repair", .timeLimit(.minutes(5)))
struct PieceTests {
    private static let pieceLength = 1 << 20
    private static let content = GeneratedContent(size: 3 * pieceLength + 1000, seed: 71)
    private static let newer = GeneratedContent(size: 3 * pieceLength + 1000, seed: 72)

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let url: String

    init() throws {
        server = try LoopbackServer()
        url = server.url("/film").absoluteString
    }

    private func purl(_ words: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(words, in: folder)
    }

    /// Downloads the file with its digests, and damages it.
    private func damage(_ change: (inout Data) -> Void) async throws {
        server.route("/film", .generated(Self.content).entityTag("\"1\""))
        #expect(try await purl("get", url, "--keep-digests").exitCode == 0)
        #expect(folder.names == ["film", "film.digests"])
        var data = folder.contents("film")
        change(&data)
        try data.write(to: folder.file("film"))
    }

    private func damageSecondPiece() async throws {
        try await damage { $0[Self.pieceLength + 5] ^= 1 }
    }

    /// The ranges that were requested after the download.
    private var ranges: [String?] { server.requests.dropFirst().map { $0.fields["Range"] } }

    private func isRight() throws -> Bool { try Self.content.matches(fileAt: folder.file("film")) }

    @Test("a file is right that was not changed; its list has the mode that other files have")
    func right() async throws {
        try await damage { _ in }
        #expect(try await purl("check", "film") == (0, ["film: right, 3.15 MB in 4 pieces"]))
        #expect(try await purl("check", "-q", "film") == (0, []))
        #expect(FileManager.default.fileExists(atPath: folder.file("film.digests.new").path) == false)
        let lines = String(decoding: folder.contents("film.digests"), as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "# pieces of 1048576 bytes, 3146728 bytes in all")
        #expect(lines.last?.hasSuffix("  film.000003") == true)
        #expect(
            try await purl("get", url, "-o", "film", "--repair").lines == [
                "film: nothing to repair, 3.15 MB in 4 pieces"
            ])
        #expect(ranges.isEmpty)
    }

    @Test(
        "what is wrong is named, and alone requested",
        arguments: [
            ([pieceLength + 5], 0, "1 of 4 pieces is damaged (bytes 1048576-2097151)", ["bytes=1048576-2097151"]),
            ([0, pieceLength], 0, "2 of 4 pieces are damaged (bytes 0-2097151)", ["bytes=0-2097151"]),
            (
                [0, content.size - 1], 0, "2 of 4 pieces are damaged (bytes 0-1048575, 3145728-3146727)",
                ["bytes=0-1048575", "bytes=3145728-3146727"]
            ),
            ([], -1, "1 of 4 pieces is damaged (bytes 3145728-3146727)", ["bytes=3145728-3146727"]),
            ([], -content.size, "4 of 4 pieces are damaged (bytes 0-3146727)", ["bytes=0-3146727"]),
            ([], 5, "5 B too many", []), ([], 2 * pieceLength, "2.10 MB too many", []),
        ] as [([Int], Int, String, [String])])
    func damaged(flips: [Int], growth: Int, findings: String, requested: [String]) async throws {
        try await damage { data in
            for offset in flips { data[offset] ^= 0x10 }
            if growth < 0 { data.removeLast(-growth) } else { data += Data(count: growth) }
        }
        let check = try await purl("check", "film")
        #expect(check == (1, ["film: \(findings)"]))
        let (code, lines) = try await purl("get", url, "-o", "film", "--repair")
        #expect(code == 0)
        #expect(lines.first == "film: \(findings)")
        #expect(lines.last?.hasPrefix("film: repaired, 3.15 MB") == true)
        #expect(ranges == requested)
        #expect(try isRight())
        #expect(folder.names == ["film", "film.digests"])
    }

    @Test(
        "bytes that the list does not prove never reach the file",
        arguments: [
            (.generated(newer), "The server's bytes 1048576-2097151 are not those of the list."),
            (.generated(content).ignoringRange(), "has the status 200: it does not send parts of this file."),
            (.generated(GeneratedContent(size: 5, seed: 71)), "416 (Range Not Satisfiable)."),
            (
                .generated(GeneratedContent(size: 4 << 20, seed: 71)),
                "is of a file of 4194304 bytes, which the list is not about."
            ),
            (.generated(content).contentRange(.shifted(by: 1)), "has bytes 1048577-2097152."),
            (.generated(content).contentRange(.total(nil)), "does not say which bytes it has."),
            (.generated(content).contentRange(.missing), "does not say which bytes it has."),
            (.generated(content).range(.startShifted(by: -1)), "has bytes 1048575-2097151."),
            (.generated(content).range(.shortened(to: 10)), "The response has less than a piece."),
            (.generated(content).multipartRanges(), "does not say which bytes it has."),
            (.status(404), "404 (Not Found)."), (.status(204), "has the status 204"),
            (.generated(content).cut(afterBytes: 1000), "The connection was lost in the middle of the response."),
        ] as [(Reply, String)])
    func unproven(reply: Reply, reason: String) async throws {
        try await damageSecondPiece()
        let before = folder.contents("film")
        server.route("/film", reply)
        let (code, lines) = try await purl("get", url, "-o", "film", "--repair")
        #expect(code == (reason.hasPrefix("4") ? 22 : 1))
        #expect(lines.last?.contains(reason) == true, "\(lines)")
        #expect(folder.contents("film") == before)
    }

    @Test("a server may send less than was requested, and what was written is not requested again")
    func portions() async throws {
        try await damage { $0.resetBytes(in: 0..<3 * Self.pieceLength) }
        server.route("/film", .generated(Self.content).range(.shortened(to: 3 * Self.pieceLength / 2)))
        #expect(try await purl("get", url, "-o", "film", "--repair").exitCode == 0)
        #expect(ranges == ["bytes=0-3145727", "bytes=1048576-3145727", "bytes=2097152-3145727"])
        #expect(try isRight())
    }

    @Test("a retry continues behind the last right piece; a mirror is asked when a server has other bytes")
    func retries() async throws {
        try await damage { $0.resetBytes(in: 0..<3 * Self.pieceLength) }
        server.route("/film", .generated(Self.content).cut(afterBytes: Self.pieceLength + 1000, times: 1))
        #expect(try await purl("get", url, "-o", "film", "--repair", "--retry", "1").exitCode == 0)
        #expect(ranges == ["bytes=0-3145727", "bytes=1048576-3145727"])
        #expect(try isRight())

        let other = server.url("/other").absoluteString
        server.route("/other", .generated(Self.newer))
        var data = Self.content.data
        data[Self.pieceLength + 5] ^= 1
        try data.write(to: folder.file("film"))
        let (code, lines) = try await purl("get", other, "--mirror", url, "-o", "film", "--repair")
        #expect(code == 0)
        #expect(lines.contains("The server's bytes 1048576-2097151 are not those of the list. Trying \(url)"))
        #expect(try isRight())
    }

    @Test("lists of others do, and the SHA-256 of the whole counts as well")
    func lists() async throws {
        server.route("/film", .generated(Self.content))
        var text = ""
        for offset in stride(from: 0, to: Self.content.size, by: 1_000_000) {
            var digest = SHA256()
            digest.update(Self.content.bytes(offset..<offset + 1_000_000).bytes)
            text += "\(Checksum(digest).hexadecimal)  x\(offset)\n"
        }
        try folder.write(text, to: "list")
        var data = Self.content.data
        data[2_500_000] ^= 1
        try data.dropLast(7).write(to: folder.file("film"))
        let options = ["-o", "film", "--repair", "--digests", "list", "--piece-length", "1000000"]
        let wrong = String(repeating: "0", count: 64)
        let first = try await PurlProcess.run(["get", url] + options + ["--sha256", wrong], in: folder)
        #expect(first.exitCode == 1 && first.lines.last?.contains("has the wrong SHA-256") == true, "\(first.lines)")
        #expect(server.requests.map { $0.fields["Range"] } == ["bytes=2000000-"])
        #expect(try isRight())
        let second = try await PurlProcess.run(["get", url] + options + ["--sha256", Self.content.sha256], in: folder)
        #expect(second.exitCode == 0)
    }

    @Test(
        "what cannot be checked or repaired is said before a request",
        arguments: [
            (["check", "none"], "purl: There is no file “none”.", 1),
            (
                ["check", "film"],
                "purl: There is no “film.digests” to compare with: “get --keep-digests” writes it, “--digests” names"
                    + " another list.", 1
            ),
            (["check", "film", "--digests", "none"], "purl: There is no file “none”.", 1),
            (["check", "."], "purl: “.” is a folder.", 1),
            (["check", "film", "--digests", "film"], "purl: Line 1 of “film” is not a SHA-256 and a name.", 1),
            (["check"], "purl: The file is missing. See “purl check --help”.", 2),
            (
                ["check", "film", "b", "--digests", "x"],
                "purl: “--digests” needs exactly one file. See “purl check --help”.", 2
            ),
            (
                ["get", "http://h/film", "--repair"],
                "purl: “--repair” needs the damaged file: -o FILE. See “purl get --help”.", 2
            ),
            (
                ["get", "http://h/film", "--piece-length", "1M"],
                "purl: “--piece-length” needs “--digests” or “--repair”. See “purl get --help”.", 2
            ),
            (["get", "http://h/film", "--digests", "x"], "purl: There is no file “x”.", 1),
            (
                ["get", "http://h/a", "http://h/b", "--digests", "x"],
                "purl: “--digests” needs exactly one URL. For several, use the lines of an --input-file. See “purl get --help”.",
                2
            ),
            (["get", "http://h/film", "-o", "/dev/null", "--digests", "pieces"], "purl: “--digests” needs a file.", 1),
            (["get", "http://h/film", "-o", "none", "--repair"], "purl: There is no file “none”.", 1),
            (["get", "http://h/film", "-o", "/dev/null", "--keep-digests"], "purl: “--keep-digests” needs a file.", 1),
            (
                ["get", "http://h/f", "-o", "taken", "--keep-digests"],
                "purl: “taken.digests” is not a list that purl has written. It was left as it is.", 1
            ),
        ] as [([String], String, Int32)])
    func refusals(words: [String], sentence: String, status: Int32) async throws {
        try folder.write("no digests", to: "film")
        try folder.write("mine", to: "taken.digests")
        try folder.write(String(repeating: "0a", count: 32) + "  x\n", to: "pieces")
        let (code, lines) = try await PurlProcess.run(words, in: folder)
        #expect(lines == [sentence])
        #expect(code == status)
    }

    @Test("--json has the damaged parts as numbers")
    func events() async throws {
        try await damageSecondPiece()
        let (code, lines) = try await purl("check", "film", "--json")
        #expect(code == 1)
        #expect(
            lines.first
                == "{\"bytes\":3146728,\"damaged\":[[1048576,2097151]],\"event\":\"checked\",\"file\":\"film\","
                + "\"result\":\"damaged\",\"total\":3146728,\"version\":1}")
        #expect(
            try await purl("get", url, "-o", "film", "--repair", "--json").lines.contains {
                $0.contains("\"repaired\"")
            })
    }

    @Test("the digests of a file that is complete already are kept, too")
    func complete() async throws {
        try Self.content.data.write(to: folder.file("film"))
        let digest = Self.content.sha256
        #expect(try await purl("get", url, "-o", "film", "--sha256", digest, "--keep-digests").exitCode == 0)
        #expect(server.requests.isEmpty)
        #expect(try await purl("check", "film").exitCode == 0)
    }
}
