import Foundation
import Purl
import PurlIO
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Finished downloads whose process was killed before the delegate returned", .timeLimit(.minutes(5)))
struct FinishedFileTests {
    private let content = GeneratedContent(size: 700_000, seed: 5)
    private let home = BackgroundHome()
    private let server: LoopbackServer
    private let url: URL

    init() throws {
        server = try LoopbackServer()
        url = server.route("/film", .generated(content).entityTag("\"v1\"").contentType("video/film"))
    }

    /// Runs the download to its end, and copies the home folder inside the delegate's call.
    private func kill(
        in call: Witness.Event, _ url: URL? = nil, before: @escaping @Sendable () -> Void = {}
    ) async throws -> BackgroundHome {
        let home = home
        let witness = Witness(hook: { _, event in
            guard event == call else { return }
            before()
            home.copyAfterCrash()
        })
        let session = home.makeSession(witness)
        let task = session.downloadTask(with: url ?? self.url)
        task.taskDescription = "the film"
        task.resume()
        await witness.completion()
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        server.forgetRequests()
        return BackgroundHome(in: home.sandbox, named: "after")
    }

    /// No bytes are left to find, in this process or in a later one.
    private func expectNothingLeft(in home: BackgroundHome, _ continuing: Bool) async {
        #expect(home.partialNames == [])
        #expect(server.requests.isEmpty)
        let launch = await Launch(home, continuing: continuing)
        #expect(launch.tasks == [])
        #expect(await launch.eventsUntilInvalid() == [.invalid])
    }

    /// The file is loaded again, or its task fails.
    private func expectNoDelivery(by launch: Launch, _ continuing: Bool) async {
        let events = await launch.events()
        if continuing {
            #expect(events.suffix(3) == [.file(700_000), .completed(nil), .eventsFinished])
        } else {
            #expect(events == [.completed(.cancelled), .eventsFinished])
        }
    }

    @Test("A file that was not delivered before the kill is delivered after a relaunch", arguments: [false, true])
    func beforeCall(continuing: Bool) async throws {
        let queue = OperationQueue()
        queue.isSuspended = true
        let session = URLSession(configuration: home.configuration(), delegate: nil, delegateQueue: queue)
        session.downloadTask(with: url).resume()
        try await home.waitForJournal(toHold: "\"finished\"")
        let after = try home.afterCrash()
        queue.isSuspended = false
        session.invalidateAndCancel()
        server.forgetRequests()

        let launch = await Launch(after, continuing: continuing)
        let found = try #require(launch.downloads.first)
        #expect(found.countOfBytesReceived == 700_000)
        #expect(found.countOfBytesExpectedToReceive == 700_000)
        #expect(await launch.events() == [.file(700_000), .completed(nil), .eventsFinished])
        #expect(launch.witness.hasFile(of: found, content))
        await launch.end()
        await expectNothingLeft(in: after, continuing)
    }

    @Test("A kill inside didFinishDownloadingTo delivers the file again", arguments: [false, true])
    func inFileCall(continuing: Bool) async throws {
        let after = try await kill(in: .file(700_000))
        let launch = await Launch(after, continuing: continuing)
        let task = try #require(launch.downloads.first)
        #expect(task.taskDescription == "the film")
        #expect(task.originalRequest?.url == url)
        #expect(task.state == .running || task.state == .completed)
        let response = try #require(task.response as? HTTPURLResponse)
        #expect(response.statusCode == 200)
        #expect(response.url == url)
        #expect(response.mimeType == "video/film")
        #expect(response.suggestedFilename == "film")
        #expect(response.value(forHTTPHeaderField: "ETag") == "\"v1\"")
        #expect(response.expectedContentLength == 700_000)
        #expect(await launch.events() == [.file(700_000), .completed(nil), .eventsFinished])
        #expect(launch.witness.hasFile(of: task, content))
        await launch.end()
        await expectNothingLeft(in: after, continuing)
    }

    @Test("A kill after the delegate moved the file calls the completion only", arguments: [false, true])
    func movedFile(continuing: Bool) async throws {
        let home = home
        let after = try await kill(in: .file(700_000)) {
            for name in home.partialNames {
                try? FileManager.default.moveItem(
                    at: home.partials.appendingPathComponent(name), to: home.sandbox.file("film"))
            }
        }
        #expect(try content.matches(fileAt: home.sandbox.file("film")))
        let launch = await Launch(after, continuing: continuing)
        #expect(launch.tasks.count == 1)
        #expect(await launch.events() == [.completed(nil), .eventsFinished])
        await launch.end()
        await expectNothingLeft(in: after, continuing)
    }

    @Test("A kill inside the completion calls only the completion again", arguments: [false, true])
    func inCompletion(continuing: Bool) async throws {
        let after = try await kill(in: .completed(nil))
        let launch = await Launch(after, continuing: continuing)
        #expect(launch.tasks.count == 1)
        #expect(await launch.events() == [.completed(nil), .eventsFinished])
        await launch.end()
        await expectNothingLeft(in: after, continuing)
    }

    @Test("A kill after the completion leaves nothing to deliver", arguments: [false, true])
    func afterCompletion(continuing: Bool) async throws {
        _ = try await kill(in: .eventsFinished)
        await expectNothingLeft(in: home, continuing)
    }

    @Test("A second kill inside didFinishDownloadingTo delivers the file again", arguments: [false, true])
    func twice(continuing: Bool) async throws {
        let after = try await kill(in: .file(700_000))
        let second = await Launch(after, continuing: continuing) { _, event in
            if event == .file(700_000) { after.copyAfterCrash(named: "third") }
        }
        #expect(await second.events() == [.file(700_000), .completed(nil), .eventsFinished])
        await second.end()
        let third = await Launch(BackgroundHome(in: home.sandbox, named: "third"), continuing: continuing)
        #expect(await third.events() == [.file(700_000), .completed(nil), .eventsFinished])
        let task = try #require(third.downloads.first)
        #expect(third.witness.hasFile(of: task, content))
    }

    @Test("A finished file that is missing is loaded again, or its task fails", arguments: [false, true])
    func missingFile(continuing: Bool) async throws {
        let queue = OperationQueue()
        queue.isSuspended = true
        let session = URLSession(configuration: home.configuration(), delegate: nil, delegateQueue: queue)
        session.downloadTask(with: url).resume()
        try await home.waitForJournal(toHold: "\"finished\"")
        let after = try home.afterCrash()
        queue.isSuspended = false
        session.invalidateAndCancel()
        try FileManager.default.removeItem(at: after.partials)
        let launch = await Launch(after, continuing: continuing)
        let task = try #require(launch.downloads.first)
        await expectNoDelivery(by: launch, continuing)
        if continuing { #expect(launch.witness.hasFile(of: task, content)) }
        await launch.end()
        #expect(after.partialNames == [])
    }

    @Test(
        "A finished file that cannot be opened is not taken for one that the delegate has moved",
        arguments: [false, true])
    func lockedFile(continuing: Bool) async throws {
        let after = try await kill(in: .file(700_000))
        let path = after.partials.appendingPathComponent(try #require(after.partialNames.first)).path
        let other = try RegularFile(path, .existing)
        #expect(try other.lock())
        let launch = await Launch(after, continuing: continuing)
        await expectNoDelivery(by: launch, continuing)
        await launch.end()
        #expect(FileManager.default.fileExists(atPath: path))
        withExtendedLifetime(other) {}
    }

    enum Damage: CaseIterable, Sendable {
        case otherByte, cut, doubled

        func apply(to file: URL) throws {
            var bytes = try Data(contentsOf: file)
            switch self {
            case .otherByte: bytes[690_000] = ~bytes[690_000]
            case .cut: bytes.removeLast(1_000)
            case .doubled: bytes += bytes
            }
            try bytes.write(to: file)
        }
    }

    @Test(
        "A finished file that was damaged before it is delivered again is loaded again, or its task fails",
        arguments: Damage.allCases, [false, true])
    func damagedFile(_ damage: Damage, continuing: Bool) async throws {
        let after = try await kill(in: .file(700_000))
        try damage.apply(to: after.partials.appendingPathComponent(try #require(after.partialNames.first)))
        let launch = await Launch(after, continuing: continuing)
        let task = try #require(launch.downloads.first)
        await expectNoDelivery(by: launch, continuing)
        if continuing {
            #expect(launch.witness.hasFile(of: task, content))
            #expect(server.requests.map { $0.fields["Range"] } == [nil])
        } else {
            #expect(launch.witness.error(of: task)?.downloadTaskResumeData == nil)
        }
        await launch.end()
        #expect(after.partialNames == [])
    }

    @Test("A damaged file that was removed is not taken for one that the delegate has moved", arguments: [false, true])
    func damagedFileAndAnotherKill(continuing: Bool) async throws {
        let after = try await kill(in: .file(700_000))
        try Damage.otherByte.apply(to: after.partials.appendingPathComponent(try #require(after.partialNames.first)))
        let second = await Launch(after) { _, event in
            if event == .completed(.cancelled) { after.copyAfterCrash(named: "third") }
        }
        #expect(await second.events() == [.completed(.cancelled), .eventsFinished])
        await second.end()
        let third = BackgroundHome(in: home.sandbox, named: "third")
        #expect(third.partialNames == [])
        let launch = await Launch(third, continuing: continuing)
        await expectNoDelivery(by: launch, continuing)
        await launch.end()
    }

    enum Kind: CaseIterable, Sendable { case empty, notFound, unknownLength }

    @Test("An empty file, an error page and a file of unknown length are delivered again", arguments: Kind.allCases)
    func unusualFile(_ kind: Kind) async throws {
        let small = GeneratedContent(size: kind == .empty ? 0 : 500, seed: 1)
        let reply = Reply.generated(small)
        let odd =
            switch kind {
            case .empty: server.route("/odd", reply)
            case .notFound: server.route("/odd", reply.status(404))
            case .unknownLength: server.route("/odd", reply.chunked())
            }
        let after = try await kill(in: .file(small.size), odd)
        let launch = await Launch(after)
        let task = try #require(launch.downloads.first)
        #expect((task.response as? HTTPURLResponse)?.statusCode == (kind == .notFound ? 404 : 200))
        #expect(await launch.events() == [.file(small.size), .completed(nil), .eventsFinished])
        #expect(launch.witness.hasFile(of: task, small))
        await launch.end()
        #expect(after.partialNames == [])
    }

    @Test("A download that is cancelled before its file is delivered again delivers none")
    func cancelled() async throws {
        let after = try await kill(in: .file(700_000))
        let witness = Witness()
        let clock = ManualClock()
        let session = after.makeSession(witness) { $0.graceClock = clock }
        session.invalidateAndCancel()
        await clock.waitForDeadlines()
        clock.advance(by: .milliseconds(250))
        await witness.wait { $0.last == .invalid }
        #expect(witness.events == [.completed(.cancelled), .eventsFinished, .invalid])
        await expectNothingLeft(in: after, false)
    }
}
