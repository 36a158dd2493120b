import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("A background session with several downloads", .timeLimit(.minutes(5)))
struct SeveralDownloadsTests {
    private let server: LoopbackServer
    private let home = BackgroundHome()

    init() throws {
        server = try LoopbackServer()
    }

    private func content(_ number: Int) -> GeneratedContent {
        GeneratedContent(size: 1_000_000 + number, seed: UInt64(number))
    }

    private func route(_ number: Int, stalling: Bool) -> URL {
        let reply = Reply.generated(content(number)).entityTag("\"v\(number)\"")
        return server.route("/\(number)", stalling ? reply.stalled(afterBytes: 700_000) : reply)
    }

    /// 1 runs, 2 is suspended in the middle, 3 was never resumed, 4 has completed, 5 was cancelled, 6 runs.
    private func killedSession() async throws -> BackgroundHome {
        let witness = Witness()
        let session = home.makeSession(witness)
        let tasks = (1...6).map { number in
            let task = session.downloadTask(with: route(number, stalling: number != 4))
            task.taskDescription = "number \(number)"
            return task
        }
        for number in [1, 2, 5, 6] {
            tasks[number - 1].resume()
            await witness.wait { $0.last == .wrote(700_000, of: Int64(1_000_000 + number)) }
        }
        tasks[1].suspend()
        tasks[4].cancel()
        await witness.completion()
        tasks[3].resume()
        await witness.completion(of: 2)
        // The delegate's last call has returned before this answer comes.
        _ = await session.allTasks
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        for number in 1...6 { _ = route(number, stalling: false) }
        server.forgetRequests()
        return after
    }

    @Test("The unfinished downloads are listed in their order")
    func order() async throws {
        let launch = await Launch(try await killedSession())
        #expect(launch.tasks.map(\.taskIdentifier) == [1, 2, 3, 6])
        #expect(launch.tasks.map(\.taskDescription) == ["number 1", "number 2", "number 3", "number 6"])
        #expect(launch.tasks.map(\.countOfBytesExpectedToReceive) == [1_000_001, 1_000_002, -1, 1_000_006])
        #expect(launch.tasks.map { $0.countOfBytesReceived > 0 } == [true, true, false, true])
        let events = await launch.events()
        #expect(events == Array(repeating: .completed(.cancelled), count: 4) + [.eventsFinished])
        for task in launch.tasks {
            let blob = launch.witness.error(of: task)?.downloadTaskResumeData
            #expect((blob != nil) == (task.taskIdentifier != 3))
        }
    }

    @Test("The resume data of several downloads are usable at the same time")
    func resumeData() async throws {
        let launch = await Launch(try await killedSession())
        _ = await launch.events()
        let old = launch.tasks.filter { $0.taskIdentifier != 3 }
        let new = try old.map { task in
            let blob = try #require(launch.witness.error(of: task)?.downloadTaskResumeData)
            return launch.session.downloadTask(withResumeData: blob)
        }
        #expect(Set(new.map(\.taskIdentifier)).isDisjoint(with: launch.tasks.map(\.taskIdentifier)))
        for task in new { task.resume() }
        await launch.witness.completion(of: 7)
        for (task, number) in zip(new, [1, 2, 6]) {
            #expect(launch.witness.hasFile(of: task, content(number)))
        }
        #expect(!server.requests.map { $0.fields["Range"] }.contains(nil))
        #expect(server.requests.count == 3)
    }

    @Test("Each continued download has the state it had; the end of events does not wait for suspended ones")
    func continued() async throws {
        let after = try await killedSession()
        let launch = await Launch(after, continuing: true)
        #expect(launch.tasks.map(\.taskIdentifier) == [1, 2, 3, 6])
        _ = await launch.events()
        #expect(launch.tasks.map(\.state) == [.completed, .suspended, .suspended, .completed])
        #expect(launch.witness.events.count { $0 == .completed(nil) } == 2)
        #expect(launch.witness.events.last == .eventsFinished)
        for task in launch.tasks where task.state == .suspended { task.resume() }
        await launch.witness.completion(of: 4)
        for task in launch.tasks { #expect(launch.witness.hasFile(of: task, content(task.taskIdentifier))) }
        #expect(Set(server.requests.map(\.path)) == ["/1", "/2", "/3", "/6"])
        await launch.end()
        #expect(launch.witness.events.count { $0 == .eventsFinished } == 1)
        #expect(after.partialNames == [])
    }

    @Test("Task identifiers are never reused", arguments: [false, true])
    func identifiers(continuing: Bool) async throws {
        let first = await Launch(try await killedSession(), continuing: continuing)
        _ = await first.events()
        let task = first.session.downloadTask(with: route(7, stalling: false))
        #expect(task.taskIdentifier == 7)
        task.resume()
        await first.witness.wait { $0.contains(.file(1_000_007)) }
        await first.end()
        let second = await Launch(BackgroundHome(in: home.sandbox, named: "after"))
        #expect(second.tasks == [])
        #expect(second.session.downloadTask(with: route(8, stalling: false)).taskIdentifier == 8)
    }

    @Test("Of a resumed download and its predecessor only one is listed", arguments: [false, true])
    func predecessor(continuing: Bool) async throws {
        let url = route(1, stalling: true)
        let home = home
        let witness = Witness(hook: { task, event in
            guard event == .completed(.cancelled), task.taskIdentifier == 1 else { return }
            home.copyAfterCrash()
        })
        let session = home.makeSession(witness)
        let task = session.downloadTask(with: url).resumed()
        await witness.wait { $0.last == .wrote(700_000, of: 1_000_001) }
        // The handler is called before the completion, in which the process is killed.
        await withCheckedContinuation { continuation in
            task.cancel { blob in
                let next = session.downloadTask(withResumeData: blob ?? Data())
                next.taskDescription = "the next"
                continuation.resume()
            }
        }
        await witness.completion()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        _ = route(1, stalling: false)
        let launch = await Launch(BackgroundHome(in: home.sandbox, named: "after"), continuing: continuing)
        let found = try #require(launch.downloads.first)
        #expect(launch.tasks.map(\.taskDescription) == ["the next"])
        #expect(launch.tasks.map(\.taskIdentifier) == [2])
        #expect(found.countOfBytesReceived == 700_000)
        if continuing {
            found.resume()
            await launch.witness.completion()
            #expect(launch.witness.hasFile(of: found, content(1)))
        } else {
            #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        }
    }

    /// Makes another download of the resume data that one has failed with, within the call about that.
    private final class Successors: Sendable {
        let session = Mutex<URLSession?>(nil)

        func make(after task: URLSessionTask) {
            guard let resumeData = (task.error as? URLError)?.downloadTaskResumeData else { return }
            session.withLock { $0 }?.downloadTask(withResumeData: resumeData).taskDescription = "the next"
        }
    }

    @Test("Of a download that failed and the one made from its resume data only that is listed")
    func failedPredecessor() async throws {
        let home = home
        let url = server.route("/1", .generated(content(1)).entityTag("\"v1\"").cut(afterBytes: 700_000))
        let successors = Successors()
        let witness = Witness(hook: { task, event in
            guard event == .completed(.networkConnectionLost) else { return }
            successors.make(after: task)
            home.copyAfterCrash()
        })
        let session = home.makeSession(witness)
        successors.session.withLock { $0 = session }
        session.downloadTask(with: url).resume()
        await witness.completion()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        let launch = await Launch(BackgroundHome(in: home.sandbox, named: "after"), continuing: true)
        #expect(launch.tasks.map(\.taskDescription) == ["the next"])
        #expect(launch.downloads.first?.countOfBytesReceived == 700_000)
        await launch.end()
    }

    @Test("Downloads made from the same resume data are all there after a kill", arguments: [false, true])
    func sameResumeData(continuing: Bool) async throws {
        let url = server.route("/1", .generated(content(1)).entityTag("\"v1\"").cut(afterBytes: 700_000))
        let witness = Witness()
        let session = home.makeSession(witness)
        let failed = session.downloadTask(with: url).resumed()
        await witness.completion()
        let resumeData = try #require(witness.error(of: failed)?.downloadTaskResumeData)
        // The delegate's last call has returned before this answer comes.
        _ = await session.allTasks
        for _ in 1...3 { _ = session.downloadTask(withResumeData: resumeData) }
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }

        _ = route(1, stalling: false)
        server.forgetRequests()
        let launch = await Launch(after, continuing: continuing)
        #expect(launch.tasks.map(\.taskIdentifier) == [2, 3, 4])
        if continuing {
            for task in launch.tasks { task.resume() }
            await launch.witness.completion(of: 3)
            for task in launch.downloads { #expect(launch.witness.hasFile(of: task, content(1))) }
            #expect(server.requests.count { $0.fields["Range"] == "bytes=700000-" } == 1)
            #expect(after.partialNames == [])
        } else {
            #expect(await launch.events() == Array(repeating: .completed(.cancelled), count: 3) + [.eventsFinished])
            // The newest one's error has resume data again.
            #expect(after.partialNames.count == 1)
        }
        await launch.end()
    }
}
