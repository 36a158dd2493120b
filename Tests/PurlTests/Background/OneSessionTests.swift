import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

/// An identifier is one session's at a time.
@Suite(.timeLimit(.minutes(5))) struct OneSessionTests {
    private let home: BackgroundHome
    private let server: LoopbackServer
    private let content = GeneratedContent(size: 10_000, seed: 4)

    init() throws {
        home = try BackgroundHome()
        server = try LoopbackServer()
        server.route("/file", .generated(content))
    }

    @Test func theSecondIsInvalidFromTheStart() async throws {
        let firstWitness = Witness()
        let first = home.makeSession(firstWitness)
        let witness = InvalidityWitness()
        let second = home.makeSession(witness)
        let error = await witness.error()
        expectError(error, .backgroundSessionInUseByAnotherProcess, about: nil)
        #expect(error?.localizedDescription.contains(BackgroundHome.identifier) == true)
        #expect(await second.allTasks == [])
        #expect(second.delegate == nil)
        second.invalidateAndCancel()
        second.finishTasksAndInvalidate()
        #expect(await second.allTasks == [])
        #expect(witness.calls == 1)
        // The first is none the worse.
        let task = first.downloadTask(with: server.url("/file"))
        task.resume()
        await firstWitness.completion()
        #expect(firstWitness.hasFile(of: task, content))
        first.finishTasksAndInvalidate()
        await firstWitness.wait { $0.last == .invalid }
    }

    /// Each of its tasks fails with that error, once, and without a request.
    @Test func itsTasksFailWithTheError() async throws {
        let first = home.makeSession()
        let second = home.makeSession()
        let witness = Witness()
        let tasks: [URLSessionTask] = [
            second.downloadTask(with: server.url("/file")), second.dataTask(with: server.url("/file")),
            second.downloadTask(withResumeData: Data()),
        ]
        for task in tasks {
            task.delegate = witness
            task.resume()
            task.resume()
            task.cancel()
        }
        await witness.completion(of: 3)
        #expect(witness.events.allSatisfy { $0 != .completed(nil) })
        let handled = await withCheckedContinuation { continuation in
            second.dataTask(with: server.url("/file")) { _, _, error in continuation.resume(returning: error) }.resume()
        }
        expectError(handled, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        let thrown = await #expect(throws: URLError.self) { try await second.download(from: server.url("/file")) }
        expectError(thrown, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        let plain = second.downloadTask(with: server.url("/file"))
        plain.delegate = witness
        plain.resume()
        await witness.completion(of: 4)
        expectError(plain.error, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        #expect(witness.events.count == 4)
        #expect(server.requests.isEmpty)
        first.invalidateAndCancel()
    }

    @Test func whatTheFirstHasIsNotTouched() async throws {
        let killed = try await KilledDownload()
        let launch = await Launch(killed.home)
        let journal = try Data(contentsOf: killed.home.journal)
        let witness = InvalidityWitness()
        let second = killed.home.makeSession(witness) { $0.continuesDownloadsAfterRelaunch = true }
        _ = await witness.error()
        #expect(await second.allTasks == [])
        second.downloadTask(with: server.url("/file")).resume()
        _ = await launch.events()
        #expect(try Data(contentsOf: killed.home.journal).starts(with: journal))
        #expect(server.requests.isEmpty)
        await launch.end()
    }

    @Test(arguments: [false, true]) func afterTheFirstIsInvalidTheIdentifierIsFree(cancelling: Bool) async throws {
        for _ in 0..<3 {
            let witness = Witness()
            let session = home.makeSession(witness)
            let task = session.downloadTask(with: server.url("/file"))
            task.resume()
            await witness.completion()
            #expect(witness.hasFile(of: task, content))
            if cancelling { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
            await witness.wait { $0.last == .invalid }
        }
    }

    /// While tasks are finishing, it is not.
    @Test func whileItsTasksFinishItIsNot() async throws {
        let gate = Gate()
        server.route("/slow", .generated(content).stalled(afterBytes: 10, until: gate))
        let witness = Witness()
        let first = home.makeSession(witness)
        first.downloadTask(with: server.url("/slow")).resume()
        first.finishTasksAndInvalidate()
        let refused = InvalidityWitness()
        _ = home.makeSession(refused)
        #expect(await refused.error()?.code == .backgroundSessionInUseByAnotherProcess)
        gate.open()
        await witness.wait { $0.last == .invalid }
        let third = Witness()
        let session = home.makeSession(third)
        session.finishTasksAndInvalidate()
        await third.wait { $0.last == .invalid }
        #expect(third.events == [.invalid])
    }

    @Test func afterTheFirstIsDroppedTheIdentifierIsFree() async throws {
        var first: URLSession? = home.makeSession()
        weak let dropped = first
        _ = try await first?.download(from: server.url("/file"))
        first = nil
        while dropped != nil, !Task.isCancelled { await Task.yield() }
        let witness = Witness()
        let second = home.makeSession(witness)
        second.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events == [.invalid])
    }

    @Test func differentIdentifiersOrFoldersGoTogether() async throws {
        let other = BackgroundHome(in: home.sandbox, named: "other")
        let configuration = URLSessionConfiguration.background(withIdentifier: "another")
        configuration.backgroundSessionsDirectory = home.folder
        let witness = Witness()
        let sessions = [
            home.makeSession(witness), other.makeSession(witness),
            URLSession(configuration: configuration, delegate: witness, delegateQueue: nil),
        ]
        for session in sessions {
            let (data, _) = try await session.data(from: server.url("/file"))
            #expect(content.matches(data) && data.count == content.size)
            #expect(witness.events == [])
        }
        for session in sessions { session.invalidateAndCancel() }
        await witness.wait { $0.count == 3 }
    }

    /// The other process holds the session's lock, and gives it back by dying.
    @Test func anotherProcessHasIt() async throws {
        let folder = home.folder
        let first = home.makeSession()
        await #expect(processExitsWith: .success) { [folder = folder as URL] in
            let configuration = URLSessionConfiguration.background(withIdentifier: BackgroundHome.identifier)
            configuration.backgroundSessionsDirectory = folder
            let witness = InvalidityWitness()
            let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
            let error = await witness.error()
            let tasks = await session.allTasks
            exit(error?.code == .backgroundSessionInUseByAnotherProcess && tasks.isEmpty ? 0 : 1)
        }
        first.invalidateAndCancel()
    }

    @Test func aProcessThatIsKilledGivesItBack() async throws {
        let folder = home.folder
        server.route("/held", .generated(content).stalled(afterBytes: 5000))
        let url = server.url("/held")
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as URL, url = url as URL] in
            let configuration = URLSessionConfiguration.background(withIdentifier: BackgroundHome.identifier)
            configuration.backgroundSessionsDirectory = folder
            let witness = Witness()
            let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
            let task = session.downloadTask(with: url)
            task.taskDescription = "killed"
            task.resume()
            await witness.wait { $0.last == .wrote(5000, of: 10_000) }
            kill(getpid(), SIGKILL)
        }
        let launch = await Launch(home)
        #expect(launch.tasks.map(\.taskDescription) == ["killed"])
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        await launch.end()
    }
}

/// A delegate that keeps the error with which its session became invalid.
final class InvalidityWitness: NSObject, URLSessionDelegate, Sendable {
    private let state = Mutex<(errors: [URLError?], waiter: CheckedContinuation<URLError?, Never>?)>(([], nil))

    /// How often the session became invalid.
    var calls: Int { state.withLock { $0.errors.count } }

    /// The error, as soon as there is one.
    func error() async -> URLError? {
        await withCheckedContinuation { continuation in
            let errors = state.withLock { state in
                if state.errors.isEmpty { state.waiter = continuation }
                return state.errors
            }
            if let error = errors.first { continuation.resume(returning: error) }
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let waiter = state.withLock { state in
            state.errors.append(error as? URLError)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: error as? URLError)
    }
}
