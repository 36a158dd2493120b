import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Uploads of a background session that resume", .timeLimit(.minutes(5)))
struct ResumableBackgroundUploadTests {
    private let site: ResumableSite
    private let home = BackgroundHome()
    private let gate = ServerGate()

    init() throws {
        site = try ResumableSite()
    }

    private func start(_ witness: Witness) -> URLSession {
        let session = home.makeSession(witness) { $0.resumableUploads = .always }
        session.uploadTask(with: site.request(), fromFile: site.file).resume()
        return session
    }

    /// The home of a program that was killed after 400,000 bytes.
    private func killed() async throws -> BackgroundHome {
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
        let witness = Witness()
        let session = start(witness)
        await gate.reached()
        try await FolderChanges.wait(in: home.session) { try home.records[1]?.upload != nil }
        let after = try home.afterCrash()
        // A program that is killed leaves the server what it has, and so must this one.
        for task in await session.allTasks {
            _ = await (task as? URLSessionUploadTask)?.cancelByProducingResumeData()
        }
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        return after
    }

    @Test("An upload that is cut resumes by itself")
    func cut() async throws {
        for offset in [200_000, 400_000, 600_000] { site.target.fault(.connection(.cut), at: .offset(offset)) }
        let witness = Witness()
        let session = start(witness)
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        site.expectWhole()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
    }

    @Test("After a relaunch the rest is uploaded")
    func relaunch() async throws {
        let launch = await Launch(try await killed(), continuing: true)
        let task = try #require(launch.tasks.first as? URLSessionUploadTask)
        #expect(task.originalRequest?.url == site.url)
        await launch.witness.completion()
        #expect(launch.witness.error(of: task) == nil)
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
        site.expectWhole()
    }

    @Test("Without continuesDownloadsAfterRelaunch the error has resume data")
    func ended() async throws {
        let home = try await killed()
        let upload = try #require(try home.records[1]?.upload)
        let launch = await Launch(home)
        let task = try #require(launch.tasks.first)
        #expect(task.countOfBytesSent == upload.offset)
        #expect(task.countOfBytesExpectedToSend == Int64(site.content.size))
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        let error = try #require(launch.witness.error(of: task))
        #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
        let session = site.session()
        let (body, _) = try await session.upload(resumeFrom: try #require(error.uploadTaskResumeData))
        #expect(body == Data("done".utf8))
        site.expectWhole()
        session.invalidateAndCancel()
    }

    @Test("A file that changed meanwhile is uploaded anew")
    func changedFile() async throws {
        let after = try await killed()
        let other = GeneratedContent(size: site.content.size, seed: 99)
        try other.data.write(to: site.file)
        let launch = await Launch(after, continuing: true)
        await launch.witness.completion()
        #expect(site.target.uploads.map(\.state) == [.incomplete, .complete])
        #expect(site.target.uploads.last.map { other.matches($0.content) } == true)
    }

    @Test("An entry that names another file than the task's is not resumed from")
    func strangeEntry() async throws {
        let after = try await killed()
        var record = try #require(try after.records[1])
        record.upload?.offset = -1
        #expect(record.checked()?.upload == nil)
        record = try #require(try after.records[1])
        record.uploadedFile = "/elsewhere"
        #expect(record.checked()?.upload == nil)
    }
}
