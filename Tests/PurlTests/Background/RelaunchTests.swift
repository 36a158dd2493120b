import Foundation
import Purl
import PurlTesting
import Testing

/// What becomes of a background session's downloads when their process ends and another makes the session again.
@Suite(.timeLimit(.minutes(1))) struct RelaunchTests {
    private let content = GeneratedContent(size: 3_000_000, seed: 7)
    private let home: BackgroundHome
    private let server: LoopbackServer

    init() throws {
        home = try BackgroundHome()
        server = try LoopbackServer()
    }

    /// A process is killed when `received` bytes are known to be safe; what it leaves.
    private func leave(after received: Int64) async throws -> BackgroundHome {
        let reply = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/file", reply.stalled(afterBytes: 2_000_000))
        let witness = Witness()
        let session = home.makeSession(witness)
        let task = session.downloadTask(with: url)
        task.taskDescription = "the film"
        task.resume()
        await witness.wait { events in
            if case .wrote(2_000_000, _) = events.last { true } else { false }
        }
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        server.route("/file", reply)
        server.forgetRequests()
        return after
    }

    @Test func theDownloadComesBackThenEndsWithResumeDataThatGoesOn() async throws {
        let after = try await leave(after: 1_000_000)
        let witness = Witness()
        let session = after.makeSession(witness)
        let tasks = await session.allTasks
        let task = try #require(tasks.first as? URLSessionDownloadTask)
        #expect(tasks.count == 1)
        #expect(task.taskIdentifier == 1)
        #expect(task.taskDescription == "the film")
        #expect(task.originalRequest?.url == server.url("/file"))
        #expect(task.countOfBytesReceived > 0)
        #expect(task.countOfBytesExpectedToReceive == 3_000_000)
        await witness.wait { $0.contains(.eventsFinished) }
        #expect(witness.events == [.completed(.cancelled), .eventsFinished])
        let error = try #require(witness.error(of: task))
        #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
        let next = session.downloadTask(withResumeData: try #require(error.downloadTaskResumeData))
        next.resume()
        await witness.completion(of: 2)
        #expect(witness.file(of: next).map { $0 == content.data } == true)
        #expect(server.requests.map { $0.fields["Range"] } == ["bytes=\(task.countOfBytesReceived)-"])
        session.finishTasksAndInvalidate()
    }
}
