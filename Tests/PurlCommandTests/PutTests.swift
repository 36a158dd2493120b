import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl put", .timeLimit(.minutes(5)))
struct PutTests {
    static let content = GeneratedContent(size: 6_000_000, seed: 1).data

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let target: UploadTarget

    init() throws {
        server = try LoopbackServer()
        target = UploadTarget(reply: .text("thanks\n").status(201))
        server.route("/films/film.bin", .upload(to: target))
        try Self.content.write(to: folder.file("film.bin"))
    }

    private var url: URL { server.url("/films/film.bin") }

    private func put(_ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["put", "film.bin", url.absoluteString] + options, in: folder)
    }

    /// Runs it until the target has so many bytes, and waits at the gate.
    private func putStalled(at offset: Int) async throws -> (process: PurlProcess, gate: Gate) {
        let gate = Gate()
        target.fault(.mishap(.stall(until: gate)), at: .offset(offset))
        // Unlimited, it could have sent as much before it has read the server's offer, which it interrupts for the record.
        let options = ["--limit-rate", "10M"]
        let process = try PurlProcess(["put", "film.bin", url.absoluteString] + options, in: folder)
        await gate.reached()
        return (process, gate)
    }

    /// Runs it until the target has so many bytes, then sends a signal.
    private func put(endedBy signal: Int32, at offset: Int) async throws -> (exitCode: Int32, lines: [String]) {
        let (process, _) = try await putStalled(at: offset)
        process.signal(signal)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        return (await process.exitCode, lines)
    }

    // MARK: Complete uploads

    @Test("uploads the file, and prints its progress and the response's body")
    func upload() async throws {
        let (code, lines) = try await put("-H", "X-Mine: yes")
        #expect(code == 0)
        #expect(lines.first == "film.bin: uploading (6.00 MB)")
        #expect(lines.contains("thanks"))
        #expect(lines.last?.hasPrefix("film.bin: complete, 6.00 MB in ") == true)
        #expect(lines.last?.hasSuffix("; the server answered 201 (Created)") == true)
        #expect(folder.names == ["film.bin"])
        let upload = try #require(target.uploads.last)
        #expect(upload.content == Self.content)
        #expect(upload.request.method == "PUT")
        #expect(upload.request.fields["X-Mine"] == "yes")
        #expect(target.acceptedBytes == Self.content.count)
    }

    @Test("a folder's URL takes the file under its name; -q prints the body alone; -X sets the method")
    func folderURL() async throws {
        let (code, lines) = try await PurlProcess.run(
            ["put", "-q", "-X", "post", "film.bin", server.url("/films/").absoluteString], in: folder)
        #expect(code == 0)
        #expect(lines == ["thanks"])
        #expect(target.uploads.map(\.request.path) == ["/films/film.bin"])
        #expect(target.uploads.map(\.request.method) == ["POST"])
    }

    @Test("a server that knows nothing of resuming gets the file in one request")
    func plainServer() async throws {
        let url = server.route("/plain", method: "PUT", .status(204))
        let (code, lines) = try await PurlProcess.run(["put", "film.bin", url.absoluteString], in: folder)
        #expect(code == 0)
        #expect(lines.last?.hasSuffix("; the server answered 204 (No Content)") == true)
        #expect(server.requests.map(\.body) == [Self.content])
        #expect(folder.names == ["film.bin"])
    }

    // MARK: Interruptions

    @Test("keeps a record when it ends early, and the same command resumes", arguments: [SIGINT, SIGTERM, SIGKILL])
    func interruption(_ signal: Int32) async throws {
        let (code, lines) = try await put(endedBy: signal, at: 2_500_000)
        #expect(code == (signal == SIGKILL ? -SIGKILL : 130))
        #expect(folder.names == ["film.bin", "film.bin.upload"])
        if signal != SIGKILL {
            #expect(lines.last?.hasPrefix("film.bin: ") == true)
            #expect(lines.last?.hasSuffix(" of 6.00 MB sent; the same command resumes the upload") == true)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("film.bin.upload").path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        let (second, resumed) = try await put()
        #expect(second == 0)
        #expect(resumed.first == "film.bin: resuming at 2.50 MB of 6.00 MB")
        #expect(resumed.last?.hasPrefix("film.bin: complete, 6.00 MB, 3.50 MB of it now in ") == true)
        #expect(folder.names == ["film.bin"])
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
    }

    @Test("a connection that is lost is resumed within the command")
    func cuts() async throws {
        for offset in [100_000, 2_000_000, 5_999_999] { target.fault(.mishap(.cut), at: .offset(offset)) }
        let (code, _) = try await put()
        #expect(code == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
        #expect(folder.names == ["film.bin"])
    }

    @Test("--retry retries what the server refuses for the time being")
    func retry() async throws {
        target.fault(.reply(.status(503)), at: .creation)
        let (code, lines) = try await put("--retry", "1")
        #expect(code == 0)
        #expect(lines.contains("The server answered 503 (Service Unavailable). Retrying in 1 s (1 of 1)"))
        #expect(target.uploads.last?.content == Self.content)
    }

    @Test("a file that has changed is uploaded from its beginning")
    func changedFile() async throws {
        _ = try await put(endedBy: SIGINT, at: 2_500_000)
        let other = GeneratedContent(size: 6_000_000, seed: 2).data
        try other.write(to: folder.file("film.bin"))
        let (code, lines) = try await put()
        #expect(code == 0)
        #expect(lines.contains { $0.hasPrefix("film.bin: starting over: ") })
        #expect(target.uploads.last?.content == other)
        #expect(folder.names == ["film.bin"])
    }

    @Test("starts over when the server no longer has the upload")
    func expiredUpload() async throws {
        _ = try await put(endedBy: SIGINT, at: 2_500_000)
        target.expire()
        let (code, lines) = try await put()
        #expect(code == 0)
        #expect(lines.contains { $0.hasPrefix("film.bin: starting over: ") })
        #expect(target.uploads.last?.content == Self.content)
        #expect(folder.names == ["film.bin"])
    }

    @Test("starts over when the server refuses to append where it has asked for it")
    func refusedAppend() async throws {
        _ = try await put(endedBy: SIGINT, at: 2_500_000)
        target.fault(.offset(2_500_000), at: .append)
        let (code, lines) = try await put()
        #expect(code == 0)
        #expect(lines.contains("film.bin: starting over: The server answered 409 (Conflict)."))
        #expect(target.uploads.last?.content == Self.content)
        #expect(folder.names == ["film.bin"])
    }

    @Test("a server that is busy when it is asked keeps the upload")
    func busyServer() async throws {
        _ = try await put(endedBy: SIGINT, at: 2_500_000)
        target.fault(.reply(.status(503)), at: .offsetRetrieval, times: 4)
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines.last == "film.bin: the same command resumes the upload")
        #expect(folder.names == ["film.bin", "film.bin.upload"])
        #expect(try await put().exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
    }

    @Test("a record is for one URL and method")
    func otherURL() async throws {
        _ = try await put(endedBy: SIGINT, at: 2_500_000)
        let (code, lines) = try await put("-X", "POST")
        #expect(code == 0)
        #expect(lines.first == "film.bin: starting over: the record belongs to another URL or method")
        #expect(target.uploads.last?.content == Self.content)
        #expect(folder.names == ["film.bin"])
    }

    @Test("--no-resume asks for nothing, keeps no record, and does not touch one")
    func noResume() async throws {
        try folder.write("something else", to: "film.bin.upload")
        let (code, _) = try await put("--no-resume")
        #expect(code == 0)
        #expect(target.uploads.map(\.version) == [nil])
        #expect(String(decoding: folder.contents("film.bin.upload"), as: UTF8.self) == "something else")
    }

    // MARK: Failures

    @Test("a lost connection to a server that cannot resume fails, and says so")
    func unresumable() async throws {
        let plain = UploadTarget(versions: [])
        plain.fault(.mishap(.reset), at: .offset(1_000_000), times: 10)
        server.route("/films/film.bin", .upload(to: plain))
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines.last == "film.bin: the upload cannot be resumed; the same command starts over")
        #expect(folder.names == ["film.bin"])
    }

    @Test("a status of 400 or above ends with 22, and what the server says about it")
    func httpError() async throws {
        let url = server.route("/full", .text("The disk is full.").status(507))
        let (code, lines) = try await PurlProcess.run(["put", "film.bin", url.absoluteString], in: folder)
        #expect(code == 22)
        #expect(lines.suffix(2) == ["purl: The server answered 507 (Insufficient Storage).", "The disk is full."])
        #expect(folder.names == ["film.bin"])
    }

    @Test("a file under the record's name that is not a record stays as it is")
    func foreignRecord() async throws {
        try folder.write("mine", to: "film.bin.upload")
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines.last?.hasPrefix("purl: “film.bin.upload” is not a record of purl's.") == true)
        #expect(String(decoding: folder.contents("film.bin.upload"), as: UTF8.self) == "mine")
        #expect(server.requests.isEmpty)
    }

    @Test("one command at a time uploads a file")
    func twoAtOnce() async throws {
        let (first, gate) = try await putStalled(at: 1_000_000)
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines == ["purl: “film.bin” is being uploaded by another process."])
        gate.open()
        for await _ in first.lines {}
        #expect(await first.exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
    }

    @Test(
        "what is no file fails before anything is sent",
        arguments: [("missing", "purl: There is no file “missing”."), (".", "purl: “.” is not a regular file.")])
    func noFile(_ name: String, _ message: String) async throws {
        let (code, lines) = try await PurlProcess.run(["put", name, url.absoluteString], in: folder)
        #expect(code == 1)
        #expect(lines == [message])
        #expect(server.requests.isEmpty)
    }

    // MARK: The command line

    @Test("reads its arguments")
    func arguments() throws {
        let options = try PutOptions(arguments: [
            "-X", "post", "a", "--retry", "3", "http://h/x?y", "-H", "A: b", "--no-resume", "-v", "--limit-rate", "1K",
            "--no-proxy",
        ])
        #expect(options.file == "a")
        #expect(options.url.absoluteString == "http://h/x?y")
        #expect(options.method == "POST")
        #expect(options.retries == 3)
        #expect(options.limit?.bytesPerSecond == 1024)
        #expect(options.headers == [HeaderOption(name: "A", value: "b")])
        #expect(!options.resumes)
        #expect(options.verbosity == .verbose)
        #expect(options.proxy == .none)
        #expect(try PutOptions(arguments: ["--", "-a", "http://h"]).url.absoluteString == "http://h/-a")
        #expect(try PutOptions(arguments: ["d/a b", "http://h/c/"]).url.absoluteString == "http://h/c/a%20b")
    }

    @Test(
        "refuses a wrong command line",
        arguments: [
            [], ["a"], ["a", "http://h/", "b"], ["-", "http://h/"], ["a", "h/x"], ["a", "http://h/", "-X", "GET"],
            ["a", "http://h/", "--retry", "-1"], ["a", "http://h/", "--retry", "1", "--retry", "1"],
            ["a", "http://h/", "--limit-rate", "0"], ["a", "http://h/", "-q", "-v"], ["a", "http://h/", "--proxy", ""],
            ["a", "http://h/", "--proxy", "p", "--no-proxy"], ["a", "http://h/", "-H", "Range: bytes=1-"],
            ["a", "http://h/", "--sha256"], ["a", "http://h/", "-X"],
        ])
    func wrongArguments(_ words: [String]) {
        let error = #expect(throws: UsageError.self) { try PutOptions(arguments: words) }
        #expect(error?.topic == .put)
    }
}
