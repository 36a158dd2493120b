import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl list and purl clean", .timeLimit(.minutes(5)))
struct UnfinishedTests {
    let folder = TemporaryFolder()

    private func purl(_ words: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(words, in: folder)
    }

    /// Creates two downloads, a `.part` without a record, one with a record that does not match, a record without bytes, and
    /// other files.
    private func fill() throws {
        try folder.leaveParts(of: "http://host/film", named: "film.mkv", bytes: 500)
        try folder.leaveParts(of: "http://host/a", named: "a", bytes: 1000)
        try folder.write("12345", to: "notes.part")
        try folder.leaveParts(of: "http://host/short", named: "short", bytes: 900, onDisk: 100)
        try folder.leaveParts(of: "http://host/gone", named: "gone", bytes: 10)
        try FileManager.default.removeItem(at: folder.file("gone.part"))
        try folder.write("half a rec", to: "film.mkv.resume.new")
        for name in [".part", "jane.resume", "a.txt", "new.resume.new"] { try folder.write("x", to: name) }
        try FileManager.default.createDirectory(at: folder.file("dir.part"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            at: folder.file("link.part"), withDestinationURL: folder.file("a.txt"))
    }

    private static let others = [".part", "a.txt", "dir.part", "jane.resume", "link.part", "new.resume.new"]

    @Test("shows the progress and the URL of each download")
    func list() async throws {
        try fill()
        let (code, lines) = try await purl("list")
        #expect(code == 0)
        #expect(
            lines == [
                "a           1.00 kB of 1.00 kB  100 %  http://host/a",
                "film.mkv    500 B of 1.00 kB     50 %  http://host/film",
                "notes.part  5 B                        no record",
                "short.part  100 B                      the record does not match",
            ])
    }

    @Test("shows that a partial file with a second name cannot be resumed, and a URL without purl's own mark in it")
    func obstacles() async throws {
        try folder.leaveParts(of: "http://host/film", named: "film", bytes: 500)
        try FileManager.default.linkItem(at: folder.file("film.part"), to: folder.file("other name"))
        let digest = String(repeating: "0a", count: 32)
        try folder.leaveParts(of: "http://host/joined#sha256=\(digest)", named: "joined", bytes: 500)
        #expect(
            try await purl("list") == (
                0,
                [
                    "film.part  500 B                   has a second name, a hard link",
                    "joined     500 B of 1.00 kB  50 %  http://host/joined",
                ]
            ))
        #expect(
            try await purl("clean").lines == [
                "film: removed, 500 B of 1.00 kB, http://host/film",
                "joined: removed, 500 B of 1.00 kB, http://host/joined", "Removed 1.00 kB in all",
            ])
        #expect(folder.names == ["other name"])
    }

    @Test("shows several folders, and names the one that does not exist")
    func folders() async throws {
        let other = folder.file("other")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
        try folder.leaveParts(of: "http://host/b", named: "other/b", bytes: 500)
        #expect(try await purl("list") == (0, ["No unfinished downloads or uploads"]))
        #expect(try await purl("list", "other") == (0, ["other/b  500 B of 1.00 kB  50 %  http://host/b"]))
        let (code, lines) = try await purl("list", "missing", ".", "other/")
        #expect(code == 1)
        #expect(
            lines == ["purl: There is no folder “missing”.", "other/b  500 B of 1.00 kB  50 %  http://host/b"])
        #expect(try await purl("clean", "other").exitCode == 0)
        #expect(folder.names == ["other"])
        #expect(try await purl("clean", "missing") == (1, ["purl: There is no folder “missing”."]))
        try folder.write("", to: "film")
        let advice = "purl: “film” is a file; give the folder that it is in."
        #expect(try await purl("list", "film") == (1, [advice]))
        #expect(try await purl("clean", "film") == (1, [advice]))
        #expect(try await purl("list", "/dev/null") == (1, ["purl: “/dev/null” is not a folder."]))
    }

    @Test("removes purl's files, and no others")
    func clean() async throws {
        try fill()
        let before = folder.names
        let (dryCode, dryLines) = try await purl("clean", "--dry-run")
        #expect(dryCode == 0)
        #expect(
            dryLines == [
                "a: would be removed, 1.00 kB of 1.00 kB, http://host/a",
                "film.mkv: would be removed, 500 B of 1.00 kB, http://host/film",
                "gone.resume: would be removed, a record without bytes",
                "notes.part: kept, 5 B without a record (--all removes it)",
                "short.part: would be removed, 100 B",
                "Would remove 1.60 kB in all",
            ])
        #expect(folder.names == before)

        let (code, lines) = try await purl("clean")
        #expect(code == 0)
        #expect(lines.first == "a: removed, 1.00 kB of 1.00 kB, http://host/a")
        #expect(lines.last == "Removed 1.60 kB in all")
        #expect(folder.names == (Self.others + ["film.mkv.resume.new", "notes.part"]).sorted())

        #expect(try await purl("clean", "--all") == (0, ["notes.part: removed, 5 B", "Removed 5 B in all"]))
        #expect(folder.names == (Self.others + ["film.mkv.resume.new"]).sorted())
        #expect(try await purl("clean", "--all") == (0, ["No unfinished downloads or uploads"]))
    }

    @Test("keeps the record of a complete file, also where a newer version has begun to arrive")
    func recordOfCompleteFile() async throws {
        let server = try LoopbackServer()
        let (old, new) = (GeneratedContent(size: 300_000, seed: 6), GeneratedContent(size: 400_000, seed: 7))
        let url = server.route("/film.bin", .generated(old).entityTag("\"v1\""))
        #expect(try await purl("get", "-N", url.absoluteString).exitCode == 0)
        #expect(try await purl("list") == (0, ["No unfinished downloads or uploads"]))
        #expect(try await purl("clean") == (0, ["No unfinished downloads or uploads"]))
        #expect(folder.names == ["film.bin", "film.bin.resume"])

        server.route("/film.bin", .generated(new).entityTag("\"v2\"").cut(afterBytes: 100_000, times: 1))
        #expect(try await purl("get", "-N", url.absoluteString).exitCode == 1)
        #expect(folder.names.contains("film.bin.part"))
        #expect(try await purl("clean").exitCode == 0)
        #expect(folder.names == ["film.bin", "film.bin.resume"])
        server.forgetRequests()
        server.route("/film.bin", .generated(old).entityTag("\"v1\""))
        #expect(try await purl("get", "-N", url.absoluteString).exitCode == 0)
        #expect(server.requests.map { $0.fields["If-None-Match"] } == ["\"v1\""])
    }

    @Test("keeps files that are being written")
    func beingWritten() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let content = GeneratedContent(size: 4_000_000, seed: 5)
        let url = server.route(
            "/film.bin", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 1_500_000, until: gate))
        let writer = try PurlProcess(["get", url.absoluteString], in: folder)
        try folder.leaveParts(of: "http://host/a", named: "a", bytes: 500)
        for await line in writer.lines where line.hasPrefix("3") && line.contains(" %") { break }

        let (code, lines) = try await purl("list")
        #expect(code == 0)
        #expect(lines.count == 2)
        #expect(lines.last?.hasSuffix("being written") == true || lines.last?.hasSuffix("(being written)") == true)
        for option in ["--all", "--dry-run"] {
            let (refusal, words) = try await purl("clean", option)
            #expect(refusal == 1)
            #expect(
                words.contains("purl: “film.bin.part” is being written by another transfer and was kept."))
        }
        #expect(folder.names.contains("film.bin.part"))
        #expect(!folder.names.contains("a.part"))
        gate.open()
        #expect(await writer.exitCode == 0)
        #expect(folder.names == ["film.bin"])
        #expect(try content.matches(fileAt: folder.file("film.bin")))
    }
}
