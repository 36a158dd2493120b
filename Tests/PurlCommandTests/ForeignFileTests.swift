import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("Files with the names of purl's own", .timeLimit(.minutes(5)))
struct ForeignFileTests {
    static let content = GeneratedContent(size: 1_000_000, seed: 22)

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let url: URL

    init() throws {
        server = try LoopbackServer()
        url = server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
    }

    private func get(_ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", url.absoluteString] + options, in: folder)
    }

    private static let advice = "It was left as it is: remove or rename it, or choose another name with -o."

    // MARK: Names that servers choose

    @Test("A server does not choose the name of a partial file or a record")
    func plantedNames() async throws {
        let planted = GeneratedContent(size: 500_000, seed: 23)
        var record = Data()
        do {
            // What a record of the honest server's film looks like, for the other's bytes.
            let other = TemporaryFolder()
            let cut = Reply.generated(planted).entityTag("\"v1\"").cut(afterBytes: 400_000)
            server.route("/film.bin", cut)
            _ = try await PurlProcess.run(["get", url.absoluteString], in: other)
            record = other.contents("film.bin.resume")
            server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
        }
        func plant(_ path: String, _ name: String, _ reply: Reply) async throws -> [String] {
            let evil = server.route(path, reply.field("Content-Disposition", "attachment; filename=\"\(name)\""))
            let (code, lines) = try await PurlProcess.run(["get", evil.absoluteString], in: folder)
            #expect(code == 0)
            return lines
        }
        let lines = try await plant("/1", "film.bin.part", .bytes(planted.bytes(0..<400_000)))
        #expect(lines.first == "“film.bin.part” is a name of purl's own files: saving as “film.bin_part”.")
        _ = try await plant("/2", "film.bin.resume", .bytes(record))
        _ = try await plant("/3", "film.bin.RESUME.new", .bytes(record))
        #expect(folder.names == ["film.bin_RESUME_new", "film.bin_part", "film.bin_resume"])

        #expect(try await get().exitCode == 0)
        #expect(server.requests.last?.fields["Range"] == nil)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("A URL does not choose them either")
    func namesOfURLs() async throws {
        let url = server.route("/film.bin.part", .text("content"))
        let (code, lines) = try await PurlProcess.run(["get", url.absoluteString], in: folder)
        #expect(code == 0)
        #expect(lines.first == "“film.bin.part” is a name of purl's own files: saving as “film.bin_part”.")
        #expect(folder.names == ["film.bin_part"])
    }

    // MARK: Files that are there

    enum Foreigner: CaseIterable, Sendable {
        case link, danglingLink, hardLink, pipe, folder, bytesWithoutRecord

        /// Puts it into the place of `film.bin.part`, and returns what is wrong with it.
        func put(into folder: TemporaryFolder) throws -> String {
            let part = folder.file("film.bin.part")
            switch self {
            case .link:
                try FileManager.default.createSymbolicLink(
                    atPath: part.path, withDestinationPath: folder.file("victim").path)
                return "is a symbolic link"
            case .danglingLink:
                try FileManager.default.createSymbolicLink(atPath: part.path, withDestinationPath: "nothing")
                return "is a symbolic link"
            case .hardLink:
                try FileManager.default.linkItem(at: folder.file("victim"), to: part)
                return "has a second name, a hard link"
            case .pipe:
                #expect(mkfifo(part.path, 0o600) == 0)
                return "is not a regular file"
            case .folder:
                try FileManager.default.createDirectory(at: part, withIntermediateDirectories: false)
                return "is not a regular file"
            case .bytesWithoutRecord:
                try folder.write("bytes of a browser", to: "film.bin.part")
                return "has no record of purl's, so another program has made it"
            }
        }
    }

    @Test("A partial file that is not purl's is left as it is", arguments: Foreigner.allCases)
    func foreignPartialFile(foreigner: Foreigner) async throws {
        try folder.write("precious", to: "victim")
        let what = try foreigner.put(into: folder)
        let names = folder.names
        let sentence = "purl: “film.bin.part” \(what). \(Self.advice)"
        #expect(try await get() == (1, [sentence]))
        #expect(try await get("--no-resume") == (1, [sentence]))
        #expect(try await get("-o", "film.bin", "--no-resume") == (1, [sentence]))
        #expect(folder.names == names)
        #expect(folder.contents("victim") == Data("precious".utf8))
        #expect(server.requests.isEmpty)
        #expect(try await get("-o", "film").exitCode == 0)
    }

    @Test("Nor is one overwritten whose name the server's answer brings up")
    func foreignPartialFileOfSuggestedName() async throws {
        try folder.write("bytes of a browser", to: "film.bin.part")
        let url = server.route(
            "/1", .text("content").field("Content-Disposition", "attachment; filename=\"film.bin\""))
        let (code, lines) = try await PurlProcess.run(["get", url.absoluteString, "--no-resume"], in: folder)
        #expect(code == 1)
        #expect(
            lines == ["purl: “film.bin.part” has no record of purl's, so another program has made it. \(Self.advice)"])
        #expect(folder.names == ["film.bin.part"])
        #expect(folder.contents("film.bin.part") == Data("bytes of a browser".utf8))
    }

    @Test("A file with the name of a record is left as it is")
    func foreignRecord() async throws {
        try folder.write("Jane's life so far", to: "film.bin.resume")
        let sentence = "purl: “film.bin.resume” is not a record of purl's. \(Self.advice)"
        #expect(try await get() == (1, [sentence]))
        #expect(try await get("--no-resume") == (1, [sentence]))
        #expect(folder.contents("film.bin.resume") == Data("Jane's life so far".utf8))
        #expect(folder.names == ["film.bin.resume"])
    }

    @Test("So is one with the name under which a new record is written")
    func foreignNewRecord() async throws {
        try folder.write("Jane's life so far", to: "film.bin.resume.new")
        #expect(try await get() == (1, ["purl: “film.bin.resume.new” is not a record of purl's. \(Self.advice)"]))
        #expect(folder.contents("film.bin.resume.new") == Data("Jane's life so far".utf8))
        #expect(folder.names == ["film.bin.resume.new"])
    }

    @Test("What takes the place of the partial file while it is written does not become the file")
    func replacedWhileWritten() async throws {
        let gate = ServerGate()
        server.route("/film.bin", .generated(Self.content).stalled(afterBytes: 100_000, until: gate, times: 1))
        let process = try PurlProcess(["get", url.absoluteString], in: folder)
        await gate.reached()
        try FileManager.default.moveItem(at: folder.file("film.bin.part"), to: folder.file("moved"))
        try folder.write("mine", to: "film.bin.part")
        gate.open()
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(await process.exitCode == 1)
        let sentence = "“film.bin.part” was moved or replaced while it was written."
        #expect(lines.last == "purl: \(sentence) What has the name now was left as it is.")
        #expect(folder.contents("film.bin.part") == Data("mine".utf8))
        #expect(!folder.names.contains("film.bin"))
    }

    @Test("An empty partial file is used, whichever program made it")
    func emptyPartialFile() async throws {
        try folder.write("", to: "film.bin.part")
        #expect(try await get().exitCode == 0)
        #expect(folder.names == ["film.bin"])
    }

    @Test("A partial file of another user's is left as it is", .enabled(if: geteuid() == 0))
    func otherUser() async throws {
        try folder.leaveParts(of: url.absoluteString, named: "film.bin", bytes: 10)
        #expect(chown(folder.file("film.bin.resume").path, 12_345, 12_345) == 0)
        let sentence = "purl: “film.bin.resume” belongs to another user. \(Self.advice)"
        #expect(try await get() == (1, [sentence]))
        #expect(chown(folder.file("film.bin.resume").path, 0, 0) == 0)
        #expect(chown(folder.file("film.bin.part").path, 12_345, 12_345) == 0)
        #expect(try await get().lines == [sentence.replacingOccurrences(of: "resume”", with: "part”")])
        #expect(folder.contents("film.bin.part").count == 10)
    }

    @Test("With --no-resume an unfinished download of another URL is kept")
    func otherDownload() async throws {
        try folder.leaveParts(of: "http://u:secret@host/film", named: "film.bin", bytes: 10)
        let sentence =
            "purl: “film.bin.part” is an unfinished download of http://u:•••@host/film. Choose another name with -o."
        #expect(try await get("--no-resume") == (1, [sentence]))
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
    }

    // MARK: Commands at the same time

    @Test(
        "A name that another program takes at the last moment is not taken from it",
        arguments: [
            ("film.bin.part", "“film.bin.part” is being written by another transfer."),
            (
                "film.bin",
                "“film.bin” was created or changed meanwhile. The complete download is in “film.bin.part”."
            ),
        ])
    func takenName(name: String, sentence: String) async throws {
        let url = server.route(
            "/1", .generated(Self.content).field("Content-Disposition", "attachment; filename=\"film.bin\""))
        let path = folder.file(name).path
        let files = WatchedFiles(willMove: { newPath in
            guard newPath == path else { return }
            #expect(FileManager.default.createFile(atPath: path, contents: Data("mine".utf8)))
        })
        let run = try await InProcessGet(url, in: folder, through: files)
        #expect(run.outcome == .failed)
        #expect(run.lines.contains("purl: " + sentence))
        #expect(folder.contents(name) == Data("mine".utf8))
        let names = name == "film.bin" ? ["film.bin", "film.bin.part", "film.bin.resume"] : [name]
        #expect(folder.names.filter { !$0.hasSuffix(".new") } == names)
    }

    @Test("Of several commands whose servers give the same name, one saves its file, whole")
    func sameName() async throws {
        let contents = (1...4).map { GeneratedContent(size: 1_000_000, seed: UInt64($0)) }
        let urls = contents.indices.map { number in
            server.route(
                "/\(number)",
                .generated(contents[number]).field("Content-Disposition", "attachment; filename=\"film.bin\""))
        }
        let processes = try urls.map { try PurlProcess(["get", $0.absoluteString], in: folder) }
        var codes: [Int32] = []
        for process in processes { codes.append(await process.exitCode) }
        #expect(codes.sorted() == [0, 1, 1, 1])
        let winner = try #require(codes.firstIndex(of: 0))
        #expect(try contents[winner].matches(fileAt: folder.file("film.bin")))
        for part in folder.names where part.hasSuffix(".part") {
            #expect(contents.contains { $0.matches(folder.contents(part)) })
        }
    }

    // MARK: purl's own

    /// A server without validators: no checkpoint is ever saved.
    @Test("Bytes of purl's are known as such when it is killed before the first checkpoint", arguments: [true, false])
    func killed(isResumable: Bool) async throws {
        let gate = ServerGate()
        let whole = Reply.generated(Self.content)
        let reply = isResumable ? whole.entityTag("\"v1\"") : whole
        server.route("/film.bin", reply.stalled(afterBytes: 100_000, until: gate, times: 1))
        let process = try PurlProcess(["get", url.absoluteString], in: folder)
        await gate.reached()
        while folder.contents("film.bin.part").isEmpty, !Task.isCancelled { await Task.yield() }
        process.signal(SIGKILL)
        #expect(await process.exitCode == -SIGKILL)
        gate.open()
        #expect(folder.names.prefix(2) == ["film.bin.part", "film.bin.resume"])
        #expect(try await PurlProcess.run(["list"], in: folder).lines.first?.hasPrefix("film.bin") == true)
        #expect(try await get().exitCode == 0)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("A changed partial file is not resumed")
    func changedPartialFile() async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\"").cut(afterBytes: 400_000, times: 1))
        #expect(try await get().exitCode == 1)
        var bytes = folder.contents("film.bin.part")
        bytes[399_999] ^= 1
        try bytes.write(to: folder.file("film.bin.part"))
        #expect(
            try await PurlProcess.run(["list"], in: folder).lines == [
                "film.bin.part  400 kB    the record does not match"
            ])
        let sentence =
            "purl: “film.bin.part” does not match its record, so another program has changed it. \(Self.advice)"
        #expect(try await get() == (1, [sentence]))
        #expect(try await get("-o", "film.bin", "--no-resume") == (1, [sentence]))
        #expect(folder.contents("film.bin.part") == bytes)
        #expect(try await PurlProcess.run(["clean"], in: folder).exitCode == 0)
        #expect(try await get().exitCode == 0)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test(
        "A partial file and its record can be opened again, whatever the mask of the process",
        arguments: ["777", "0", "77"])
    func mask(_ mask: String) async throws {
        server.route("/film.bin", .generated(Self.content).entityTag("\"v1\"").cut(afterBytes: 400_000, times: 1))
        let process = try PurlProcess(
            shell: "umask \(mask); exec \"$0\" \"$@\"", ["get", url.absoluteString], in: folder)
        #expect(await process.exitCode == 1)
        func mode(_ name: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: folder.file(name).path)[.posixPermissions] as? Int
        }
        #expect(try mode("film.bin.part") == (mask == "0" ? 0o666 : 0o600))
        #expect(try mode("film.bin.resume") == 0o600)
    }

    @Test("The record of a complete file does not vouch for a partial file")
    func recordOfCompleteFile() throws {
        let parts = PartFiles(for: folder.file("film"))
        try folder.leaveParts(of: url.absoluteString, named: "film", bytes: 1000)
        try parts.finish(replacing: false, keepsRecord: true)
        try parts.validate()
        try folder.write("bytes of a browser", to: "film.part")
        #expect(throws: CommandFailure.self) { try parts.validate() }
        // That of no bytes does, and so does an empty one, which a power loss may leave.
        try folder.leaveParts(of: url.absoluteString, named: "film", bytes: 0, onDisk: 10)
        try parts.validate()
        try folder.write("", to: "film.resume")
        try parts.validate()
    }

    @Test("A file of the right length is not taken for complete when its end differs from the record's")
    func changedFile() throws {
        let parts = PartFiles(for: folder.file("film"))
        try folder.leaveParts(of: url.absoluteString, named: "film", bytes: 1000)
        try parts.finish(replacing: false, keepsRecord: true)
        #expect(parts.lengthOfFinishedFile(for: [url]) == 1000)
        try Data(repeating: 1, count: 1000).write(to: folder.file("film"))
        #expect(parts.lengthOfFinishedFile(for: [url]) == nil)
    }
}
