import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Tasks of a background session that end with their process", .timeLimit(.minutes(5)))
struct UnkeptTaskTests {
    private let witness = Witness()
    private let content = GeneratedContent(size: 700_000, seed: 2)
    private let server: LoopbackServer
    private let home = BackgroundHome()

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\""))
        server.route("/held", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 600_000))
    }

    private func expectNothing(in home: BackgroundHome) async {
        for continuing in [false, true] {
            let launch = await Launch(home, continuing: continuing)
            #expect(launch.tasks == [])
            #expect(await launch.eventsUntilInvalid() == [.invalid])
        }
    }

    @Test("A data task is not kept")
    func dataTask() async throws {
        let session = home.makeSession(witness)
        let whole = session.dataTask(with: server.url("/file")).resumed()
        await witness.completion()
        #expect(content.matches(witness.data(of: whole)) && witness.data(of: whole).count == content.size)
        let held = session.dataTask(with: server.url("/held"))
        held.taskDescription = "held"
        held.resume()
        await witness.wait { $0.last == .data(600_000) }
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        await expectNothing(in: after)
    }

    @Test("A download with a completion handler is not kept")
    func completionHandler() async throws {
        let session = home.makeSession(witness)
        let isRight = await withCheckedContinuation { continuation in
            session.downloadTask(with: server.url("/file")) { [content] file, _, error in
                let isRight = error == nil && file.map { (try? content.matches(fileAt: $0)) == true } == true
                continuation.resume(returning: isRight)
            }.resume()
        }
        #expect(isRight)
        session.downloadTask(with: server.url("/held")) { _, _, _ in }.resume()
        await server.wait { $0.requests.last?.bytesSent == 600_000 }
        // The file of the first one is removed after its handler has returned, and before this.
        _ = await session.allTasks
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        await expectNothing(in: after)
        #expect(home.partialNames == [])
    }

    @Test("An async download is not kept")
    func asyncDownload() async throws {
        let session = home.makeSession(witness)
        let (file, _) = try await session.download(from: server.url("/file"))
        #expect(try content.matches(fileAt: file))
        let (data, _) = try await session.data(from: server.url("/file"))
        #expect(data.count == content.size && content.matches(data))
        let url = server.url("/held")
        let held = Task { try await session.download(from: url) }
        await server.wait { $0.requests.last?.bytesSent == 600_000 }
        let after = try home.afterCrash()
        held.cancel()
        _ = await held.result
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        await expectNothing(in: after)
    }

    @Test("A download from unreadable resume data is not kept")
    func unreadableResumeData() async throws {
        let session = home.makeSession(witness)
        let task = session.downloadTask(withResumeData: Data("nonsense".utf8))
        await expectNothing(in: try home.afterCrash())
        task.resume()
        await witness.completion()
        #expect(witness.events == [.completed(.cannotDecodeRawData)])
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
    }

    @Test("A task that an ending session refused is not kept")
    func refused() async throws {
        let session = home.makeSession(witness)
        let held = session.dataTask(with: server.url("/held")).resumed()
        await witness.wait { $0.last == .data(600_000) }
        session.finishTasksAndInvalidate()
        let refused = session.downloadTask(with: server.url("/file"))
        await expectNothing(in: try home.afterCrash())
        refused.cancel()
        held.cancel()
        await witness.wait { $0.last == .invalid }
    }

    @Test("A failed download is not kept, and its resume data stays usable")
    func failed() async throws {
        server.route("/cut", .generated(content).entityTag("\"v1\"").cut(afterBytes: 600_000))
        let session = home.makeSession(witness)
        let task = session.downloadTask(with: server.url("/cut")).resumed()
        await witness.completion()
        #expect(witness.error(of: task)?.code == .networkConnectionLost)
        let blob = try #require(witness.error(of: task)?.downloadTaskResumeData)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        await expectNothing(in: home)
        // The program's resume data is still usable.
        server.route("/cut", .generated(content).entityTag("\"v1\""))
        let launch = await Launch(home)
        let next = launch.session.downloadTask(withResumeData: blob).resumed()
        await launch.witness.completion()
        #expect(launch.witness.hasFile(of: next, content))
        #expect(server.requests.last?.fields["Range"] == "bytes=600000-")
    }

    @Test(
        "A cancelled download is not continued after a relaunch, even when its delegate was not called",
        arguments: [false, true])
    func cancelled(forResumeData: Bool) async throws {
        let home = home
        let witness = Witness(hook: { _, event in
            if event == .completed(.cancelled) { home.copyAfterCrash() }
        })
        let session = home.makeSession(witness)
        let task = session.downloadTask(with: server.url("/held")).resumed()
        await witness.wait { $0.last == .wrote(600_000, of: 700_000) }
        if forResumeData { #expect(await task.cancelByProducingResumeData() != nil) } else { task.cancel() }
        await witness.completion()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        server.route("/held", .generated(content).entityTag("\"v1\""))
        server.forgetRequests()
        let after = BackgroundHome(in: home.sandbox, named: "after")
        let launch = await Launch(after, continuing: true)
        let found = try #require(launch.tasks.first)
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        let error = try #require(launch.witness.error(of: found))
        #expect(error.backgroundTaskCancelledReason == nil)
        #expect((error.downloadTaskResumeData != nil) == forResumeData)
        #expect(server.requests.isEmpty)
        await launch.end()
        #expect(after.partialNames.count == (forResumeData ? 1 : 0))
    }

    @Test("A data task that became a download is kept", arguments: [false, true])
    func becameDownload(continuing: Bool) async throws {
        let witness = Witness(disposition: .becomeDownload)
        let session = home.makeSession(witness)
        server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 600_000))
        let task = session.dataTask(with: server.url("/file"))
        task.taskDescription = "the film"
        task.priority = URLSessionTask.lowPriority
        task.resume()
        await witness.wait { $0.last == .wrote(600_000, of: 700_000) }
        let after = try home.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        server.route("/file", .generated(content).entityTag("\"v1\""))
        let launch = await Launch(after, continuing: continuing)
        let found = try #require(launch.downloads.first)
        #expect(launch.tasks.count == 1)
        #expect(found.taskIdentifier == 2)
        #expect(found.taskDescription == "the film")
        #expect(found.priority == URLSessionTask.lowPriority)
        if continuing {
            #expect(await launch.events().suffix(3) == [.file(700_000), .completed(nil), .eventsFinished])
            #expect(launch.witness.hasFile(of: found, content))
        } else {
            #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
            #expect(launch.witness.error(of: found)?.downloadTaskResumeData != nil)
        }
    }
}
