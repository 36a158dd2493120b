import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("--trace and purl trace", .timeLimit(.minutes(5)))
struct TraceCommandTests {
    private let folder = TemporaryFolder()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test(
        "writes what has happened in the form of the file's extension",
        arguments: ["txt", "svg", "har", "pcapng", "json"])
    func forms(form: String) async throws {
        let url = server.route("/film.bin", .generated(size: 100_000))
        let (code, _) = try await PurlProcess.run(
            ["get", url.absoluteString, "--trace", "film.\(form)"], in: folder)
        #expect(code == 0)
        let beginnings = [
            "txt": Data("    0.000 ms".utf8), "svg": Data("<svg xmlns".utf8), "har": Data("{".utf8),
            "pcapng": Data([0x0A, 0x0D, 0x0D, 0x0A]), "json": Data("{".utf8),
        ]
        let beginning = try #require(beginnings[form])
        let content = folder.contents("film.\(form)")
        #expect(content.starts(with: beginning) || form == "txt" && content.range(of: Data("0.000 ms".utf8)) != nil)
    }

    @Test("shows a saved trace as a timeline, and writes it in another form")
    func saved() async throws {
        let url = server.route("/film.bin", .generated(size: 100_000))
        _ = try await PurlProcess.run(["get", url.absoluteString, "--trace", "film.trace"], in: folder)
        let (code, lines) = try await PurlProcess.run(["trace", "film.trace"], in: folder)
        #expect(code == 0)
        #expect(lines.contains { $0.hasSuffix("network   sends GET /film.bin") })
        #expect(lines.contains { $0.hasSuffix("network   receives 200 OK") })
        let (fieldsCode, fields) = try await PurlProcess.run(["trace", "film.trace", "--fields"], in: folder)
        #expect(fieldsCode == 0)
        #expect(fields.contains { $0.hasSuffix("Content-Length: 100000") })
        let (writeCode, _) = try await PurlProcess.run(["trace", "film.trace", "-o", "film.svg"], in: folder)
        #expect(writeCode == 0)
        #expect(folder.contents("film.svg").starts(with: Data("<svg".utf8)))
    }

    @Test(
        "exits with the code of the error",
        arguments: [
            (
                ["get", "http://127.0.0.1/x", "--trace", "film.doc"], 2,
                "purl: “--trace” needs a name that ends in .txt, .svg, .html, .har, .pcapng, .json or .trace, not “film.doc”."
            ),
            (
                ["get", "http://127.0.0.1/x", "--trace", "no/film.svg"], 1,
                "purl: There is no folder “no” for the trace."
            ),
            (["demo", "--trace"], 2, "purl: “--trace” needs a value."),
            (["trace"], 2, "purl: The file is missing."),
            (["trace", "missing.json"], 1, "purl: There is no file “missing.json”."),
            (["trace", "."], 1, "purl: “.” is a folder."),
        ] as [([String], Int32, String)])
    func errors(arguments: [String], code: Int32, sentence: String) async throws {
        let result = try await PurlProcess.run(arguments, in: folder)
        #expect(result.exitCode == code)
        #expect(result.lines.first?.hasPrefix(sentence) == true)
        #expect(folder.names.isEmpty)
    }

    @Test("records an upload")
    func upload() async throws {
        let url = server.route("/note", .text("thanks"))
        try folder.write("12345", to: "note.txt")
        let result = try await PurlProcess.run(
            ["put", "note.txt", url.absoluteString, "--no-resume", "--trace", "up.txt"], in: folder)
        #expect(result.exitCode == 0)
        let text = String(decoding: folder.contents("up.txt"), as: UTF8.self)
        #expect(text.contains("  network   sends PUT /note\n"))
        #expect(text.contains("  delegate  begins didSendBodyData (5 bytes, 5 of 5)\n"))
    }

    @Test(
        "never takes the place of a file that the command reads, or downloads by a name that it knows",
        arguments: [
            (["get", "URL"], isTheFileOfADownload),
            (["get", "URL", "-o", "film.txt"], isTheFileOfADownload),
            (["get", "URL", "-o", "pages/film.txt"], isTheFileOfADownload),
            (["get", "URL", "URL?2"], isTheFileOfADownload),
            (["get", "URL", "-N"], isTheFileOfADownload),
            (["get", "--input-file", "film.txt"], isUsedByThisCommand),
            (["get", "URL", "--check", "film.txt"], isUsedByThisCommand),
            (["get", "URL", "--digests", "film.txt"], isUsedByThisCommand),
            (["get", "URL", "--repair", "-o", "film.txt"], isUsedByThisCommand),
            (["get", "URL", "--repair", "-o", "bin"], isUsedByThisCommand),
            (["get", "URL", "-o", "x", "--cacert", "film.txt"], isUsedByThisCommand),
            (["get", "URL", "-o", "x", "--capath", "roots"], isUsedByThisCommand),
            (["get", "URL", "-o", "x", "--cert", "c", "--key", "film.txt"], isUsedByThisCommand),
            (["get", "URL", "-o", "x", "--cert", "c", "--passphrase-file", "film.txt"], isUsedByThisCommand),
            (["put", "film.txt", "URL"], isUsedByThisCommand),
            (["put", "link.txt", "URL"], isUsedByThisCommand),
            (["put", "other", "URL", "--cert", "film.txt"], isUsedByThisCommand),
            (["ws", "URL", "--cert", "film.txt"], isUsedByThisCommand),
        ])
    func otherFiles(arguments: [String], refusal: String) async throws {
        let url = server.route("/film.txt", .generated(size: 100_000))
        try folder.write("mine", to: "film.txt")
        for (name, target) in [("pages", "."), ("link.txt", "film.txt"), ("bin.digests", "film.txt")] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.file(name).path, withDestinationPath: target)
        }
        try FileManager.default.createDirectory(at: folder.file("roots"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("roots/a.pem").path, withDestinationPath: "../film.txt")
        let names = folder.names
        let result = try await PurlProcess.run(
            arguments.map { $0.replacing("URL", with: url.absoluteString) } + ["--trace", "film.txt"], in: folder)
        #expect(result.exitCode == 1)
        #expect(
            result.lines.contains { $0.contains("film.txt” \(refusal): choose another name for the trace.") },
            "\(result.lines)")
        #expect(folder.names == names)
        #expect(folder.contents("film.txt") == Data("mine".utf8))
        #expect(server.requests.isEmpty)
    }

    @Test(
        "never takes the place of a file that the shell has opened for the command",
        arguments: [
            "get URL -q -o /dev/stdout > film.txt", "get URL -q -o /dev/fd/3 3> film.txt", "get URL -o x 2> film.txt",
            "put other URL > film.txt", "get --input-file - < film.txt", "get URL -o x --check - < film.txt",
        ])
    func redirections(command: String) async throws {
        let url = server.route("/film", .generated(size: 1000))
        try folder.write("\(url)\n", to: "film.txt")
        try folder.write("other", to: "other")
        let words = command.replacing("URL", with: url.absoluteString)
        let process = try PurlProcess(
            shell: "\"$0\" \(words.replacing("film.txt", with: "film.txt --trace film.txt")); echo $?", [], in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(lines.last == "1")
        #expect(!String(decoding: folder.contents("film.txt"), as: UTF8.self).contains("ms  task"))
        #expect(server.requests.isEmpty)
    }

    private static let isTheFileOfADownload = "is the file of a download"
    private static let isUsedByThisCommand = "is a file that this command reads or writes"

    @Test("is not replaced by a download whose name the server chooses")
    func suggestedName() async throws {
        let url = server.route(
            "/film", .generated(size: 1000).field("Content-Disposition", "attachment; filename=\"film.txt\""))
        let result = try await PurlProcess.run(["get", url.absoluteString, "--trace", "film.txt"], in: folder)
        #expect(result.exitCode == 1)
        #expect(result.lines.first?.contains("“film.txt” is used for the trace.") == true)
        #expect(folder.names == ["film.txt"])
        #expect(String(decoding: folder.contents("film.txt"), as: UTF8.self).contains("sends GET /film\n"))
    }

    @Test("never takes the place of a download's list of digests, where a link leads to it")
    func listOfDigests() async throws {
        let url = server.route("/film", .generated(size: 1000)).absoluteString
        try folder.write("mine", to: "film.digests")
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.txt").path, withDestinationPath: "film.digests")
        let result = try await PurlProcess.run(["get", url, "--trace", "link.txt"], in: folder)
        #expect(result.exitCode == 1)
        #expect(
            result.lines == ["purl: “film” is the file of a download: choose another name for the trace."])
        #expect(folder.contents("film.digests") == Data("mine".utf8))
    }

    @Test("stays as it was where the command does not begin")
    func notBegun() async throws {
        try folder.write("an earlier one", to: "film.txt")
        let url = server.url("/film").absoluteString
        for arguments in [
            ["put", "missing", url], ["get", url, "--check", "missing"], ["get", url, "-o", "no/film"],
        ] {
            let result = try await PurlProcess.run(arguments + ["--trace", "film.txt"], in: folder)
            #expect(result.exitCode == 1)
            #expect(folder.names == ["film.txt"])
            #expect(folder.contents("film.txt") == Data("an earlier one".utf8))
        }
    }

    @Test("takes the place of an earlier one, with its mode", arguments: ["film.txt", "link.txt"])
    func earlier(path: String) async throws {
        let url = server.route("/film.bin", .generated(size: 1000)).absoluteString
        try folder.write("an earlier one", to: "film.txt")
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.txt").path, withDestinationPath: "film.txt")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file("film.txt").path)
        #expect(try await PurlProcess.run(["get", url, "--trace", path], in: folder).exitCode == 0)
        #expect(String(decoding: folder.contents("film.txt"), as: UTF8.self).contains("sends GET /film.bin"))
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("film.txt").path)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(folder.names == ["film.bin", "film.txt", "link.txt"])
        #expect(FileEntry(at: folder.file("link.txt")) == .link)
    }

    @Test("is written where nothing is, or a regular file")
    func noFile() async throws {
        let url = server.route("/film.bin", .generated(size: 1000)).absoluteString
        #expect(mkfifo(folder.file("pipe.txt").path, 0o600) == 0)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.txt").path, withDestinationPath: "film.bin")
        let long = String(repeating: "x", count: 252) + ".txt"
        for (path, sentence) in [
            ("pipe.txt", "“pipe.txt” is not a regular file, as a trace has to be."),
            ("link.txt", "“link.txt” is a symbolic link that leads to no file."),
            (long, "The name of “\(long)” is too long for a file."),
            ("none/film.txt", "There is no folder “none” for the trace."),
        ] {
            let result = try await PurlProcess.run(["get", url, "--trace", path], in: folder)
            #expect(result.exitCode == 1)
            #expect(result.lines == ["purl: \(sentence)"])
        }
        #expect(folder.names == ["link.txt", "pipe.txt"])
        #expect(server.requests.isEmpty)
    }

    /// The superuser can write into any folder.
    @Test("needs a folder that can be written to, before anything is transferred", .enabled(if: geteuid() != 0))
    func closedFolder() async throws {
        let url = server.route("/film.bin", .generated(size: 1000)).absoluteString
        let closed = folder.file("closed")
        try FileManager.default.createDirectory(at: closed, withIntermediateDirectories: true)
        try Data("earlier".utf8).write(to: closed.appendingPathComponent("film.txt"))
        #expect(chmod(closed.path, 0o555) == 0)
        defer { chmod(closed.path, 0o755) }
        for name in ["film.txt", "new.txt"] {
            let result = try await PurlProcess.run(["get", url, "--trace", "closed/\(name)"], in: folder)
            #expect(result.exitCode == 1)
            #expect(result.lines == ["purl: No trace can be written into the folder of “closed/\(name)”."])
        }
        #expect(server.requests.isEmpty)
    }

    @Test("leaves a file alone that another program makes meanwhile")
    func madeMeanwhile() async throws {
        let gate = ServerGate()
        let url = server.route("/film.bin", .generated(size: 1000).stalled(afterBytes: 500, until: gate))
        let process = try PurlProcess(["get", url.absoluteString, "--trace", "film.txt"], in: folder)
        await gate.reached()
        try folder.write("of another program", to: "film.txt")
        gate.open()
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(await process.exitCode == 1)
        #expect(lines.last == "purl: “film.txt” was made by another program meanwhile: no trace was written.")
        #expect(folder.contents("film.txt") == Data("of another program".utf8))
    }

    @Test("records the messages of a WebSocket, with their text in an archive")
    func webSocket() async throws {
        let url = server.route("/chat", .webSocket())
        let address = url.absoluteString.replacing("http:", with: "ws:")
        for form in ["txt", "har"] {
            let result = try await PurlProcess.run(
                ["ws", address, "--trace", "chat.\(form)"], in: folder, input: "hello\n")
            #expect(result.exitCode == 0)
        }
        let text = String(decoding: folder.contents("chat.txt"), as: UTF8.self)
        #expect(text.contains("  network   sends a text message, 5 bytes\n"))
        #expect(text.contains("  network   receives a text message, 5 bytes\n"))
        #expect(text.contains("  network   sends a close frame, 1000\n"))
        let archive = try JSONSerialization.jsonObject(with: folder.contents("chat.har")) as? [String: Any]
        let entry = ((archive?["log"] as? [String: Any])?["entries"] as? [[String: Any]])?.first
        let messages = try #require(entry?["_webSocketMessages"] as? [[String: Any]])
        #expect(messages.map { $0["type"] as? String } == ["send", "receive"])
        #expect(messages.map { $0["data"] as? String } == ["hello", "hello"])
        #expect(messages.map { $0["opcode"] as? Int } == [1, 1])
    }

    @Test("refuses a file that is not a saved trace")
    func foreign() async throws {
        try folder.write("{}", to: "other.json")
        let (code, lines) = try await PurlProcess.run(["trace", "other.json"], in: folder)
        #expect(code == 1)
        #expect(
            lines == [
                "purl: “other.json” is not a trace that “--trace” has saved as .json or .trace: “version” is missing."
            ])
        try folder.write(#"{"log":{"version":"1.2","entries":[]}}"#, to: "other.har")
        let archive = try await PurlProcess.run(["trace", "other.har"], in: folder)
        #expect(archive.exitCode == 1)
        #expect(
            archive.lines == [
                "purl: “other.har” is an HTTP Archive, which cannot be shown: save traces as .json or .trace."
            ])
    }

    @Test(
        "refuses to write where it cannot, and onto the trace itself",
        arguments: [
            ("film.json", "pages.html", "purl: “pages.html” is a folder, not a file for the trace."),
            ("film.json", "no/film.html", "purl: There is no folder “no” for the trace."),
            (
                "film.json", "film.json",
                "purl: “film.json” is a file that this command reads or writes: choose another name for the trace."
            ),
            (
                "film.json", "link.json",
                "purl: “link.json” is a file that this command reads or writes: choose another name for the trace."
            ),
            (
                "link.json", "film.json",
                "purl: “film.json” is a file that this command reads or writes: choose another name for the trace."
            ),
            ("pages.html", "film.html", "purl: “pages.html” is a folder."),
        ])
    func places(input: String, output: String, message: String) async throws {
        try folder.write(Self.saved(by: 9), to: "film.json")
        try FileManager.default.createDirectory(at: folder.file("pages.html"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            at: folder.file("link.json"), withDestinationURL: folder.file("film.json"))
        let (code, lines) = try await PurlProcess.run(["trace", input, "-o", output], in: folder)
        #expect(code == 1)
        #expect(lines == [message])
        #expect(folder.contents("film.json") == Data(Self.saved(by: 9).utf8))
    }

    /// A trace with one event that this version does not know.
    private static func saved(by version: Int) -> String {
        let event = #"{"nanoseconds":0,"lane":"network","kind":{"later":{}}}"#
        return #"{"version":\#(version),"startDate":0,"events":[\#(event)],"droppedEvents":0,"droppedBytes":0}"#
    }
}
