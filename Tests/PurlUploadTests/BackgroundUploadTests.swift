import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Uploads of a background session", .timeLimit(.minutes(5)))
struct BackgroundUploadTests {
    private let witness = Witness()
    private let content = GeneratedContent(size: Upload.blockedSize, seed: 61)
    private let server: LoopbackServer
    private let gate = ServerGate()
    private let home = BackgroundHome()
    private let file: URL

    init() throws {
        server = try LoopbackServer()
        file = home.sandbox.file("upload")
        try content.data.write(to: file)
        server.route("/file", .text("done").takingBody(after: gate))
    }

    /// The home of a program that was killed in the middle of its upload.
    private func killed(finally: (URLSessionTask) -> Void = { _ in }) async throws -> BackgroundHome {
        let session = home.makeSession(witness)
        var request = Upload.request(server.url("/file"), "PUT")
        request.setValue("text/x", forHTTPHeaderField: "Content-Type")
        let task = session.uploadTask(with: request, fromFile: file)
        task.taskDescription = "the film"
        task.resume()
        await gate.reached()
        finally(task)
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        gate.open()
        server.forgetRequests()
        return after
    }

    @Test("A killed file upload is listed and fails after a relaunch")
    func cancelled() async throws {
        let launch = await Launch(try await killed())
        let task = try #require(launch.tasks.first as? URLSessionUploadTask)
        #expect(launch.tasks.count == 1)
        #expect(task.taskDescription == "the film")
        #expect(task.originalRequest?.httpMethod == "PUT")
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        let error = try #require(launch.witness.error(of: task))
        #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
        #expect(error.downloadTaskResumeData == nil)
        #expect(server.requests.isEmpty)
    }

    @Test("With continuesDownloadsAfterRelaunch a file upload starts over")
    func startsOver() async throws {
        let launch = await Launch(try await killed(), continuing: true)
        let task = try #require(launch.tasks.first as? URLSessionUploadTask)
        #expect(task.taskIdentifier == 1)
        let size = Int64(content.size)
        #expect(
            await launch.events() == [
                .sent(size, of: size), .data(4), .completed(nil), .eventsFinished,
            ])
        #expect(server.requests.map(\.method) == ["PUT"])
        #expect(server.requests.map { $0.fields["Content-Type"] } == ["text/x"])
        #expect(server.requests.map { $0.body.isSame(as: content.data) } == [true])
        await launch.end()
        #expect(try home.records.isEmpty)
    }

    @Test("A suspended upload stays suspended")
    func suspended() async throws {
        let launch = await Launch(try await killed(finally: { $0.suspend() }), continuing: true)
        let task = try #require(launch.tasks.first)
        #expect(task.state == .suspended)
        #expect(server.requests.isEmpty)
        task.resume()
        await launch.witness.completion()
        #expect(launch.witness.events.last == .completed(nil))
        #expect(server.requests.map { $0.body.isSame(as: content.data) } == [true])
    }

    @Test("An upload that was cancelled before the kill ends with cancelled")
    func cancelledBefore() async throws {
        let home = home
        // Killed in the middle of its last call.
        let witness = Witness(hook: { _, event in
            if event == .completed(.cancelled) { home.copyAfterCrash() }
        })
        let session = home.makeSession(witness)
        let cancelled = session.uploadTask(with: Upload.request(server.url("/file")), fromFile: file).resumed()
        await gate.reached()
        cancelled.cancel()
        await witness.completion()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        gate.open()
        server.forgetRequests()
        let launch = await Launch(BackgroundHome(in: home.sandbox, named: "after"), continuing: true)
        let task = try #require(launch.tasks.first)
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        #expect(launch.witness.error(of: task)?.backgroundTaskCancelledReason == nil)
        #expect(server.requests.isEmpty)
    }

    @Test("An upload whose file is missing fails")
    func missingFile() async throws {
        let after = try await killed()
        try FileManager.default.removeItem(at: file)
        let launch = await Launch(after, continuing: true)
        #expect(await launch.events() == [.completed(.fileDoesNotExist), .eventsFinished])
    }

    @Test(
        "An entry with a path that Purl never writes is not used", arguments: ["upload", "", "../upload", "~/upload"])
    func invalidPath(path: String) async throws {
        let after = try await killed()
        var record = try #require(try after.records[1])
        #expect(record.uploadedFile == file.path)
        record.uploadedFile = path
        try JournalText.line(try JournalEntry.task(record).encoded()).write(to: after.journal)
        let launch = await Launch(after, continuing: true)
        #expect(launch.tasks == [])
    }

    @Test("A finished upload is not kept")
    func finished() async throws {
        gate.open()
        let session = home.makeSession(witness)
        session.uploadTask(with: Upload.request(server.url("/file")), fromFile: file).resume()
        await witness.completion()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        let launch = await Launch(home)
        #expect(launch.tasks == [])
    }

    @Test("Uploads from data and streams are not kept", arguments: [UploadForm.body, .stream, .data, .streamed])
    func otherForms(form: UploadForm) async throws {
        let upload = try Upload(form, content)
        let session = home.makeSession(upload.witness)
        let task = try #require(upload.makeTask(Upload.request(server.url("/file")), in: session)).resumed()
        await gate.reached()
        let after = try home.afterCrash()
        gate.open()
        await upload.witness.completion()
        #expect(task.error == nil)
        session.invalidateAndCancel()
        await upload.witness.wait { $0.last == .invalid }
        let launch = await Launch(after, continuing: true)
        #expect(launch.tasks == [])
    }

    @Test("A download with a body stream is not kept")
    func downloadWithStream() async throws {
        let session = home.makeSession(witness)
        var request = Upload.request(server.url("/file"))
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        let task = session.downloadTask(with: request)
        #expect(try home.records.isEmpty)
        gate.open()
        task.resume()
        await witness.completion()
        #expect(witness.file(of: task) == Data("done".utf8))
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
    }
}
