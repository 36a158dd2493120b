import Foundation
import Purl
import PurlIO
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

    /// Runs it to its end.
    private func put(_ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["put", "film.bin", url.absoluteString] + options, in: folder)
    }

    /// Runs it until the target has so many bytes, and waits at the gate.
    private func putStalled(
        _ file: String = "film.bin", at offset: Int, _ options: [String] = []
    ) async throws -> (process: PurlProcess, gate: ServerGate) {
        let gate = ServerGate()
        target.fault(.connection(.stall(until: gate)), at: .offset(offset))
        let process = try PurlProcess(["put", file, url.absoluteString] + options, in: folder)
        await gate.reached()
        return (process, gate)
    }

    /// Runs it until the target has so many bytes and the record is written, calls `change`, then sends a signal.
    @discardableResult
    private func interruptedPut(
        _ file: String = "film.bin", by signal: Int32 = SIGINT, at offset: Int = 2_500_000, _ options: String...,
        after change: () async throws -> Void = {}
    ) async throws -> (exitCode: Int32, lines: [String]) {
        let (process, _) = try await putStalled(file, at: offset, options + ["-v"])
        var lines: [String] = []
        var isSaved = false
        for await line in process.lines {
            lines.append(line)
            // It is saved once more at the end, and a second signal would end the process at once.
            guard !isSaved, line.hasPrefix("* observeResumeData: saved as ") else { continue }
            isSaved = true
            try await change()
            process.signal(signal)
        }
        return (await process.exitCode, lines)
    }

    // MARK: Complete uploads

    @Test("uploads the file, and prints its progress and the response's body")
    func upload() async throws {
        let (code, lines) = try await put(
            "-H", "X-Mine: yes\r", "-H", "Cookie: a=1", "-H", "cookie: b=2", "-H", "X-Two: 1", "-H", "X-Two: 2")
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
        #expect(upload.request.fields["Cookie"] == "a=1; b=2")
        #expect(upload.request.fields["X-Two"] == "1,2")
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

    @Test("a redirect to a page about the upload: the file was sent, and the page is printed")
    func redirectToPage() async throws {
        let url = server.route(
            "/plain", method: "PUT", .status(303).field("Location", server.url("/page").absoluteString))
        server.route("/page", .text("stored\n"))
        let (code, lines) = try await PurlProcess.run(["put", "film.bin", url.absoluteString], in: folder)
        #expect(code == 0)
        #expect(lines.contains("stored"))
        #expect(lines.last?.hasPrefix("film.bin: complete, 6.00 MB in ") == true, "\(lines)")
        #expect(lines.last?.hasSuffix("; the server answered 303 (See Other), then 200 (OK)") == true, "\(lines)")
        #expect(!lines.contains { $0.contains("0 B of 0 B") }, "\(lines)")
    }

    // MARK: The file

    @Test(
        "a file that is written to while it is sent is not reported as uploaded",
        arguments: ["again", "longer", "then removed", "then replaced", "after it was replaced"],
        [[], ["--no-resume"]])
    func writtenWhileSent(change: String, options: [String]) async throws {
        let (process, gate) = try await putStalled(at: 2_500_000, options)
        let file = folder.file("film.bin")
        let handle = try FileHandle(forUpdating: file)
        if change == "longer" { try handle.seekToEnd() }
        if change == "after it was replaced" { try Data("another".utf8).write(to: file, options: .atomic) }
        try handle.write(contentsOf: Data(count: 100_000))
        try handle.close()
        if change == "then replaced" { try Data("another".utf8).write(to: file, options: .atomic) }
        if change == "then removed" { try FileManager.default.removeItem(at: file) }
        gate.open()
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(await process.exitCode == 1)
        #expect(
            lines.contains { $0.hasPrefix("purl: “film.bin” was written to while it was sent: the server may have ") },
            "\(lines)")
        #expect(!lines.contains { $0.contains("complete") })
    }

    @Test("a file that has lost its name while it is sent is uploaded")
    func removedWhileSent() async throws {
        let (process, gate) = try await putStalled(at: 2_500_000)
        try Data("another".utf8).write(to: folder.file("film.bin"), options: .atomic)
        gate.open()
        #expect(await process.exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
    }

    @Test(
        "nothing is sent of what has content and no length, or is no folder",
        arguments: [
            ("/proc/version", "has content, but no length. Copy it into another file, and upload that."),
            ("film.bin/", "is not a folder."),
        ])
    func unusual(file: String, message: String) async throws {
        let (code, lines) = try await PurlProcess.run(["put", file, url.absoluteString], in: folder)
        #expect(code == 1)
        #expect(lines == ["purl: “\(file)” \(message)"])
        #expect(server.requests.isEmpty)
    }

    // MARK: Interruptions

    @Test("keeps a record when it ends early, and the same command resumes", arguments: [SIGINT, SIGTERM, SIGKILL])
    func interruption(_ signal: Int32) async throws {
        let (code, lines) = try await interruptedPut(by: signal)
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
        for offset in [100_000, 2_000_000, 5_999_999] { target.fault(.connection(.cut), at: .offset(offset)) }
        let (code, lines) = try await put()
        #expect(code == 0)
        let reports = lines.filter { $0.hasPrefix("film.bin: ") && $0.hasSuffix(" Resuming") }
        #expect(reports.count == 3, "\(lines)")
        #expect(reports.allSatisfy { $0.contains("connection") })
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
        try await interruptedPut()
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
        try await interruptedPut()
        target.expire()
        let (code, lines) = try await put()
        #expect(code == 0)
        #expect(lines.contains { $0.hasPrefix("film.bin: starting over: ") })
        #expect(target.uploads.last?.content == Self.content)
        #expect(folder.names == ["film.bin"])
    }

    @Test("starts over when the server refuses to append where it has asked for it")
    func refusedAppend() async throws {
        try await interruptedPut()
        target.fault(.offset(2_500_000), at: .append)
        let (code, lines) = try await put()
        #expect(code == 0)
        #expect(lines.contains("film.bin: starting over: The server answered 409 (Conflict)."))
        #expect(target.uploads.last?.content == Self.content)
        #expect(folder.names == ["film.bin"])
    }

    @Test("a server that is busy when it is asked keeps the upload")
    func busyServer() async throws {
        try await interruptedPut()
        target.fault(.reply(.status(503)), at: .offsetRetrieval, times: 4)
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines.last == "film.bin: the same command resumes the upload")
        #expect(folder.names == ["film.bin", "film.bin.upload"])
        #expect(try await put().exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
    }

    @Test(
        "the record of a first command stays, whatever responds to a question about the upload, unless that is gone",
        arguments: [200, 301, 400, 401, 403, 405, 408, 421, 425, 429, 451, 503])
    func oddAnswer(_ status: Int) async throws {
        target.fault(.connection(.cut), at: .offset(2_500_000))
        target.fault(.reply(.status(status)), at: .offsetRetrieval, times: status == 503 ? 4 : 1)
        let (code, lines) = try await put()
        #expect(code == ([401, 403].contains(status) ? 22 : 1))
        #expect(lines.last?.hasSuffix("the same command resumes the upload") == true)
        #expect(folder.names == ["film.bin", "film.bin.upload"])
        #expect(try await put().exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
        #expect(folder.names == ["film.bin"])
    }

    @Test(
        "--retry resumes after a refusal for the time being", arguments: [UploadTarget.Phase.offsetRetrieval, .append])
    func retryResumes(_ phase: UploadTarget.Phase) async throws {
        target.fault(.connection(.cut), at: .offset(2_500_000))
        target.fault(.reply(.status(429)), at: phase)
        #expect(try await put("--retry", "1").exitCode == 0)
        #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
    }

    @Test("an upload that is not interrupted is one request, whatever the server would have forgotten")
    func forgetfulServer() async throws {
        target.fault(.expiry, at: .offsetRetrieval, times: 100)
        #expect(try await put().exitCode == 0)
        #expect(server.requests.map(\.method) == ["PUT"])
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(folder.names == ["film.bin"])
    }

    @Test(
        "what is to go to another URL, or with another method, is refused, and the record stays",
        arguments: [["/films/flim.bin"], ["/films/film.bin", "-X", "POST"]])
    func otherRequest(_ words: [String]) async throws {
        try await interruptedPut()
        let count = server.requests.count
        let words = [server.url(words[0]).absoluteString] + words.dropFirst()
        let (code, lines) = try await PurlProcess.run(["put", "film.bin"] + words, in: folder)
        #expect(code == 1)
        let record = "“film.bin.upload” is the record of an unfinished upload to \(url.absoluteString) (PUT)"
        #expect(lines == ["purl: \(record). It was left as it is: use --no-resume, or purl clean."])
        #expect(server.requests.count == count)
        #expect(try await put().lines.first == "film.bin: resuming at 2.50 MB of 6.00 MB")
        #expect(target.uploads.map(\.content) == [Self.content])
    }

    @Test("--no-resume leaves the record of an upload to another URL, and removes one that it has made useless")
    func noResumeBesideRecord() async throws {
        try await interruptedPut()
        let other = server.route("/other.bin", method: "PUT", .status(204)).absoluteString
        let words = ["put", "film.bin", other, "--no-resume"]
        #expect(try await PurlProcess.run(words, in: folder).exitCode == 0)
        #expect(folder.names == ["film.bin", "film.bin.upload"])
        #expect(try await put("--no-resume").exitCode == 0)
        #expect(folder.names == ["film.bin"])
    }

    // MARK: The file of a record

    @Test("a file that was moved with its folder is resumed, and one that has taken its place is another one")
    func movedFolder() async throws {
        let (old, new) = (folder.file("backup"), folder.file("backup.1"))
        try FileManager.default.createDirectory(at: old, withIntermediateDirectories: false)
        try FileManager.default.moveItem(at: folder.file("film.bin"), to: old.appendingPathComponent("film.bin"))
        try await interruptedPut("backup/film.bin")
        try FileManager.default.moveItem(at: old, to: new)
        try FileManager.default.createDirectory(at: old, withIntermediateDirectories: false)
        let other = GeneratedContent(size: 6_000_000, seed: 2).data
        try other.write(to: old.appendingPathComponent("film.bin"))
        let words = ["put", "backup.1/film.bin", url.absoluteString]
        let (code, lines) = try await PurlProcess.run(words, in: folder)
        #expect(code == 0)
        #expect(lines.first == "film.bin: resuming at 2.50 MB of 6.00 MB")
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
    }

    @Test("another file of the same name, length and time is uploaded from its beginning")
    func otherFile() async throws {
        try await interruptedPut()
        let other = GeneratedContent(size: 6_000_000, seed: 2).data
        var times = stat()
        stat(folder.file("film.bin").path, &times)
        try other.write(to: folder.file("new"))
        try #require(rename(folder.file("film.bin").path, folder.file("old").path) == 0)
        try #require(rename(folder.file("new").path, folder.file("film.bin").path) == 0)
        #if canImport(Darwin)
            let exact = [times.st_atimespec, times.st_mtimespec]
        #else
            let exact = [times.st_atim, times.st_mtim]
        #endif
        try #require(utimensat(AT_FDCWD, folder.file("film.bin").path, exact, 0) == 0)
        let (code, lines) = try await put()
        #expect(code == 0)
        #expect(lines.first == "film.bin: starting over: it is another file of the same name")
        #expect(target.uploads.last?.content == other)
    }

    // MARK: Credentials

    @Test("the header fields of the current command count, and no others")
    func currentFields() async throws {
        try await interruptedPut(
            "film.bin", by: SIGINT, at: 2_500_000, "-H", "Authorization: Bearer 1", "-H", "X-Old: 1")
        #expect(try await put("-H", "Authorization: Bearer 2", "-H", "X-New: 2").exitCode == 0)
        let requests = server.requests.suffix(2)
        #expect(requests.map(\.method) == ["HEAD", "PATCH"])
        #expect(requests.map { $0.fields["Authorization"] } == ["Bearer 2", "Bearer 2"])
        #expect(requests.map { $0.fields["X-New"] } == ["2", "2"])
        #expect(requests.map { $0.fields["X-Old"] } == [nil, nil])
    }

    @Test("401 and 403 leave the record", arguments: [401, 403], [UploadTarget.Phase.offsetRetrieval, .append])
    func denied(_ status: Int, at phase: UploadTarget.Phase) async throws {
        try await interruptedPut()
        target.fault(.reply(.status(status).field("WWW-Authenticate", "Bearer")), at: phase)
        let (code, lines) = try await put()
        #expect(code == 22)
        #expect(lines.contains { $0.hasPrefix("purl: http") && $0.contains(": The server answered \(status) (") })
        #expect(lines.last?.hasSuffix("the same command resumes the upload") == true)
        #expect(folder.names == ["film.bin", "film.bin.upload"])
        #expect(try await put("-H", "Authorization: Bearer 2").exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
        #expect(target.acceptedBytes == Self.content.count)
    }

    // MARK: purl list and purl clean

    private func purl(_ words: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(words, in: folder)
    }

    @Test("purl list shows an unfinished upload, and what has become of its file")
    func list() async throws {
        try await interruptedPut()
        let line = "film.bin  6.00 MB    upload to \(url.absoluteString)"
        #expect(try await purl("list") == (0, [line]))
        try folder.write("x", to: "film.bin")
        #expect(try await purl("list").lines == ["\(line) (the file had 6.00 MB, and has 1 B)"])
        try FileManager.default.removeItem(at: folder.file("film.bin"))
        #expect(try await purl("list").lines == ["\(line) (the file is gone)"])
        try folder.write("mine", to: "film.bin.upload")
        #expect(try await purl("list") == (0, ["No unfinished downloads or uploads"]))
        #expect(try await purl("clean", "--all") == (0, ["No unfinished downloads or uploads"]))
        #expect(folder.contents("film.bin.upload") == Data("mine".utf8))
    }

    /// What happens to the request that cancels an upload.
    enum Cancellation: CaseIterable, Sendable {
        case done, expired, refused, redirected, endless, unreachable
    }

    @Test("a record that a killed command was about to put in its place is shown, and given up")
    func newRecord() async throws {
        try await interruptedPut()
        let (record, new) = (folder.file("film.bin.upload"), folder.file("film.bin.upload.new"))
        try FileManager.default.moveItem(at: record, to: new)
        let lines = try await PurlProcess.run(["list"], in: folder).lines
        #expect(lines == ["film.bin  6.00 MB    upload to \(url.absoluteString)"])
        let (code, words) = try await PurlProcess.run(["clean"], in: folder)
        #expect(code == 0)
        #expect(words.first?.hasSuffix("the server has deleted its part") == true)
        #expect(folder.names == ["film.bin"])
    }

    @Test("such a record goes when the upload is complete")
    func newRecordOfCompleteUpload() async throws {
        try await interruptedPut()
        let record = folder.file("film.bin.upload")
        try FileManager.default.copyItem(at: record, to: folder.file("film.bin.upload.new"))
        #expect(try await put().exitCode == 0)
        #expect(folder.names == ["film.bin"])
    }

    @Test("an attempt that was cancelled before it began ends")
    func cancelledBeforehand() async throws {
        try folder.write("content", to: "file")
        let (file, request) = (folder.file("file"), URLRequest(url: url))
        for _ in 0..<200 {
            let attempt = SendTask(
                .file(request, file), for: url, trace: VerboseLog(console: nil, name: ""), onStart: { _, _ in },
                onRestart: { _ in }, onRecord: { _ in }, onBody: { _ in })
            let report = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await attempt.run(in: .shared)
            }.value
            #expect((report.error as? URLError)?.code == .cancelled)
        }
    }

    @Test("purl clean has the server delete its part, and says whether it did", arguments: Cancellation.allCases)
    func clean(_ cancellation: Cancellation) async throws {
        try await interruptedPut("film.bin", by: SIGINT, at: 2_500_000, "-H", "Authorization: Bearer 1")
        let fact = "an upload to \(url.absoluteString)"
        #expect(try await purl("clean", "--dry-run") == (0, ["film.bin.upload: would be removed, \(fact)"]))
        let answer: String
        switch cancellation {
        case .done: answer = "the server has deleted its part"
        case .expired:
            target.expire()
            answer = "the server no longer had its part"
        case .refused:
            target.fault(.reply(.status(405)), at: .cancellation)
            answer = "the server may keep its part: it answered 405 (method not allowed)"
        case .redirected:
            target.fault(.reply(.status(303).field("Location", "/elsewhere")), at: .cancellation)
            answer = "the server may keep its part: it answered 303 (see other)"
        case .endless:
            target.fault(.reply(.text("deleted").stalled(afterBytes: 1)), at: .cancellation)
            answer = "the server has deleted its part"
        case .unreachable:
            server.stop()
            answer = "the server could not be asked to delete its part: "
        }
        let (code, lines) = try await purl("clean")
        #expect(code == 0)
        #expect(lines.count == 1)
        let line = "film.bin.upload: removed, \(fact); \(answer)"
        #expect(lines[0].lowercased().hasPrefix(line.lowercased()), "\(lines)")
        #expect(folder.names == ["film.bin"])
        guard cancellation != .unreachable else { return }
        let request = try #require(server.requests.last)
        #expect(request.method == "DELETE" && request.fields["Authorization"] == "Bearer 1")
        let states: [Cancellation: ReceivedUpload.State] = [.done: .cancelled, .expired: .expired]
        #expect(target.uploads.map(\.state) == [states[cancellation] ?? .incomplete])
    }

    @Test("purl list and purl clean leave an upload alone that is under way")
    func underWay() async throws {
        let (process, gate) = try await putStalled(at: 1_000_000, ["-v"])
        for await line in process.lines where line.hasPrefix("* observeResumeData: saved as ") { break }
        #expect(try await purl("list").lines.last?.hasSuffix(" (being sent)") == true)
        let (code, lines) = try await purl("clean")
        #expect(code == 1)
        #expect(lines == ["purl: “film.bin” is being uploaded by another process, and its record was kept."])
        gate.open()
        #expect(await process.exitCode == 0)
        #expect(target.uploads.map(\.content) == [Self.content])
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
        plain.fault(.connection(.reset), at: .offset(1_000_000), times: 10)
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
        let sentence = "purl: \(url.absoluteString): The server answered 507 (Insufficient Storage)."
        #expect(lines.suffix(2) == [sentence, "The disk is full."])
        #expect(folder.names == ["film.bin"])
    }

    @Test("a status that does not say that the server has the file fails", arguments: [300, 302, 304, 305])
    func notAccepted(status: Int) async throws {
        // Not where the server says how to resume: a redirection without a Location leads nowhere.
        let body = status == 304 ? Reply.status(304) : .text("Elsewhere.").status(status)
        let url = server.route("/moved", method: "PUT", body)
        let (code, lines) = try await PurlProcess.run(["put", "film.bin", url.absoluteString, "-q"], in: folder)
        #expect(code == 1)
        #expect(lines.first?.hasPrefix("purl: The server answered \(status) (") == true)
        #expect(lines.first?.hasSuffix("), which does not mean that it has the file.") == true)
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

    @Test("a file under the name of a new record that is not one stays as it is")
    func foreignNewRecord() async throws {
        try folder.write("mine", to: "film.bin.upload.new")
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines.last?.hasPrefix("purl: “film.bin.upload.new” is not a record of purl's.") == true)
        #expect(folder.contents("film.bin.upload.new") == Data("mine".utf8))
        #expect(server.requests.isEmpty)
    }

    @Test("a record that nests thousands of containers is refused")
    func nestedRecord() async throws {
        let depth = 20_000
        let arrays = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
        try folder.write("<?xml version=\"1.0\"?><plist version=\"1.0\">\(arrays)</plist>", to: "film.bin.upload")
        let (code, lines) = try await put()
        #expect(code == 1)
        #expect(lines.last?.hasPrefix("purl: “film.bin.upload” is not a record of purl's.") == true)
    }

    @Test("an empty record, as a power loss may leave it, does not hinder the upload")
    func emptyRecord() async throws {
        try folder.write("", to: "film.bin.upload")
        try await interruptedPut()
        #expect(try await put().lines.first == "film.bin: resuming at 2.50 MB of 6.00 MB")
        #expect(target.uploads.map(\.content) == [Self.content])
    }

    @Test("a record of another file that has taken the name is not removed with that of the first")
    func recordOfReplacement() throws {
        let file = folder.file("film.bin")
        let first = try #require(FileEntry(at: file).regularFile)
        try folder.write("other", to: "other")
        let second = try #require(FileEntry(at: folder.file("other")).regularFile)
        try UploadRecord(of: second, to: url, method: "PUT", resumeData: Data()).save(for: file)
        UploadRecord.remove(for: file, first.identity, of: url, "PUT")
        #expect(folder.names.contains("film.bin.upload"))
        UploadRecord.remove(for: file, second.identity, of: url, "PUT")
        #expect(!folder.names.contains("film.bin.upload"))
    }

    @Test("what it takes to resume a file that has lost its name neither locks nor is recorded for the one that has it")
    func fileOfTheName() async throws {
        try await interruptedPut(by: SIGKILL)
        let file = folder.file("film.bin")
        let resumeData = try #require(try UploadRecord(for: file)).resumeData
        try UploadRecord.removeAll(of: file)
        guard case .put(let options) = try Command(arguments: ["put", file.path, url.absoluteString]) else {
            Issue.record("It is another command.")
            return
        }
        let console = Console(STDERR_FILENO)
        let keeper = UploadRecordKeeper(
            of: file, try FileLock(file), to: options, through: SystemFiles(),
            MessagePrinter(console: console, isQuiet: true, subject: nil), VerboseLog(console: nil, name: ""))
        try Data(count: Self.content.count).write(to: file, options: .atomic)
        keeper.update(resumeData)
        #expect(folder.names == ["film.bin"])
        #expect(throws: Never.self) { try FileLock(file) }
        #expect(!keeper.keepsRecord)
    }

    @Test("an interruption after the file has lost its name promises no resumption")
    func interruptedWithoutName() async throws {
        let (code, lines) = try await interruptedPut {
            try Data(count: 100).write(to: folder.file("film.bin"), options: .atomic)
        }
        #expect(code == 130)
        #expect(lines.last == "film.bin: the upload cannot be resumed; the same command starts over")
        #expect(folder.names == ["film.bin"])
    }

    @Test("an interruption after a copy has taken the file's name promises no resumption")
    func interruptedWithCopy() async throws {
        let (code, lines) = try await interruptedPut {
            let copy = try PurlProcess(shell: "cp -p film.bin copy && mv copy film.bin", [], in: folder)
            #expect(await copy.exitCode == 0)
        }
        #expect(code == 130)
        #expect(lines.last == "film.bin: the upload cannot be resumed; the same command starts over")
        #expect(folder.names == ["film.bin"])
    }

    @Test("what takes the record's name meanwhile is left as it is", arguments: ["file", "folder", "link"])
    func foreignRecord(kind: String) async throws {
        let record = folder.file("film.bin.upload")
        let (code, lines) = try await interruptedPut {
            try FileManager.default.removeItem(at: record)
            switch kind {
            case "file": try Data("mine".utf8).write(to: record)
            case "folder": try FileManager.default.createDirectory(at: record, withIntermediateDirectories: false)
            default: try FileManager.default.createSymbolicLink(atPath: record.path, withDestinationPath: "film.bin")
            }
        }
        #expect(code == 130)
        #expect(lines.last == "film.bin: the upload cannot be resumed")
        let refusal = "“film.bin.upload” is not a record of purl's. It was left as it is: "
        #expect(lines.contains { $0.hasPrefix(refusal) })
        switch kind {
        case "file": #expect(folder.contents("film.bin.upload") == Data("mine".utf8))
        case "folder": #expect(FileEntry(at: record) == .folder)
        default: #expect(FileEntry(at: record) == .link)
        }
        let next = try await put()
        #expect(next.exitCode == 1)
        #expect(next.lines.first?.hasPrefix("purl: \(refusal)") == true)
    }

    @Test("a command whose file was replaced leaves the record of the command that uploads the new one")
    func replacedFile() async throws {
        let (first, gate) = try await putStalled(at: 1_000_000)
        try GeneratedContent(size: 5_000_000, seed: 2).data.write(to: folder.file("new"))
        try #require(rename(folder.file("new").path, folder.file("film.bin").path) == 0)
        let (second, secondGate) = try await putStalled(at: 2_000_000, ["-v"])
        for await line in second.lines where line.hasPrefix("* observeResumeData: saved as ") { break }
        target.fault(.connection(.cut), at: .offset(1_500_000))
        gate.open()
        for await _ in first.lines {}
        #expect(await first.exitCode == 0)
        // Its third upload is that of the first command, which has started over with the new file.
        #expect(target.uploads.count == 3)
        let record = try #require(try UploadRecord(for: folder.file("film.bin")))
        #expect(String(decoding: record.resumeData, as: UTF8.self).contains("upload-1"))
        secondGate.open()
        for await _ in second.lines {}
        #expect(await second.exitCode == 0)
        #expect(folder.names == ["film.bin"])
    }

    @Test("a file that was cut while it was sent is uploaded from its beginning, and that is said", arguments: [0, 1])
    func cutFile(retries: Int) async throws {
        let (first, gate) = try await putStalled(at: 100_000, ["--retry", "\(retries)", "--limit-rate", "200k"])
        let cut = Self.content.prefix(50_000)
        try #require(truncate(folder.file("film.bin").path, cut.count) == 0)
        gate.open()
        var lines: [String] = []
        for await line in first.lines { lines.append(line) }
        #expect(!lines.contains { $0.contains("resum") }, "\(lines)")
        let code = await first.exitCode
        if code != 0 { #expect(try await put().lines.allSatisfy { !$0.contains("resuming") }) }
        #expect(target.uploads.last?.content == Data(cut))
        #expect(folder.names == ["film.bin"])
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
        "what is not a file fails before anything is sent",
        arguments: [("missing", "purl: There is no file “missing”."), (".", "purl: “.” is not a regular file.")])
    func noFile(_ name: String, _ message: String) async throws {
        let (code, lines) = try await PurlProcess.run(["put", name, url.absoluteString], in: folder)
        #expect(code == 1)
        #expect(lines == [message])
        #expect(server.requests.isEmpty)
    }

    @Test(
        "states what was sent, also where the server did not take all of it",
        arguments: [
            (4_000_000, 0, "complete, 4.00 MB in 2.0 s (2.00 MB/s)"),
            (4_000_000, 1_000_000, "complete, 4.00 MB, 3.00 MB of it now in 2.0 s (1.50 MB/s)"),
            (4_000_000, nil, "complete, 4.00 MB, 0 B of it now in 2.0 s (0 B/s)"),
            (3_000_000, 1_000_000, "3.00 MB of 4.00 MB sent in 2.0 s (1.00 MB/s)"),
        ] as [(Int64, Int64?, String)])
    func result(sent: Int64, start: Int64?, text: String) {
        #expect(UploadText.result(length: 4_000_000, sent: sent, from: start, in: .seconds(2)) == text)
    }

    // MARK: The command line

    @Test("reads its arguments")
    func arguments() throws {
        func read(_ words: String...) throws -> PutOptions { try #require(try PutOptions.syntax.parse(words)) }
        let options = try read(
            "-X", "post", "a", "--retry", "3", "http://h/x?y", "-H", "A: b", "--no-resume", "-v", "--limit-rate", "1K",
            "--no-proxy")
        #expect(options.file == "a")
        #expect(options.url.absoluteString == "http://h/x?y")
        #expect(options.method == "POST")
        #expect(options.retries == 3)
        #expect(options.limit?.bytesPerSecond == 1024)
        #expect(options.headers == [HeaderOption(name: "A", value: "b")])
        #expect(try read("a", "http://h/x", "-H", "A: b\r\n").headers == [HeaderOption(name: "A", value: "b")])
        #expect(!options.resumes)
        #expect(options.verbosity == .verbose)
        #expect(options.proxy == .none)
        #expect(try read("--", "-a", "http://h").url.absoluteString == "http://h/-a")
        #expect(try read("d/a b", "http://h/c/").url.absoluteString == "http://h/c/a%20b")
    }

    @Test(
        "refuses a wrong command line",
        arguments: [
            [], ["a"], ["a", "http://h/", "b"], ["-", "http://h/"], ["a", "h/x"], ["a", "http://h/", "-X", "GET"],
            ["a", "http://h/", "--retry", "-1"], ["a", "http://h/", "--retry", "1", "--retry", "1"],
            ["a", "http://h/", "--limit-rate", "0"], ["a", "http://h/", "-q", "-v"], ["a", "http://h/", "--proxy", ""],
            ["a", "http://h/", "--proxy", "p", "--no-proxy"], ["a", "http://h/", "-H", "Range: bytes=1-"],
            ["a", "http://h/", "-H", "A: b\nC: d"],
            ["a", "http://h/", "--sha256"], ["a", "http://h/", "-X"],
        ])
    func wrongArguments(_ words: [String]) {
        let error = #expect(throws: UsageError.self) { try PutOptions.syntax.parse(words) }
        #expect(error?.command == "put")
    }
}
