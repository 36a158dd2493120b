import Foundation
import Purl
import PurlTesting
import Synchronization

/// Threads that suspend and resume the same tasks. Once they have stopped, each task has to do what its state says: one that
/// is running completes, and one that is suspended receives nothing until it is resumed.
struct StateRaces: Sendable {
    private static let tasks = 24
    private static let threads = 4
    private static let callsOfThread = 100
    /// How many seconds the tasks of one race may take, even on a busy machine.
    private static let patience = 15.0

    let ledger: Ledger
    let folder: URL

    /// Runs one race after another.
    func run(until deadline: ContinuousClock.Instant, _ first: Dice) async {
        var dice = first
        while ContinuousClock.now < deadline {
            do {
                try await race(&dice)
            } catch {
                ledger.note("a race could not begin: \(error)")
            }
        }
    }

    private func race(_ dice: inout Dice) async throws {
        let server = try LoopbackServer(maximumRecordedBody: 0)
        let gate = ServerGate()
        server.route("/held", .text("a few words").delayed(until: gate))
        let completions = Completions()
        let session = makeSession(completions, &dice)
        defer {
            session.invalidateAndCancel()
            server.stop()
        }
        let tasks = (0..<Self.tasks).map { _ in session.downloadTask(with: server.url("/held")) }
        for task in tasks { task.resume() }
        await gate.reached(times: Self.tasks)
        await control(tasks, &dice)
        let suspended = tasks.filter { $0.state == .suspended }
        gate.open()
        await server.waitUntilIdle()
        await expectCompletion(of: tasks.filter { $0.state == .running }, completions)
        ledger.check(
            suspended.allSatisfy { $0.state == .suspended && !completions.contain($0) },
            "a suspended task has completed")
        for task in suspended {
            while task.state == .suspended { task.resume() }
        }
        await expectCompletion(of: tasks, completions)
    }

    /// The journal of a background session follows the states as well.
    private func makeSession(_ delegate: any URLSessionDelegate, _ dice: inout Dice) -> URLSession {
        let isBackground = dice.once(in: 2)
        let configuration: URLSessionConfiguration =
            isBackground ? .background(withIdentifier: "race.\(dice.below(.max))") : .ephemeral
        configuration.backgroundSessionsDirectory = folder.appendingPathComponent("races")
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("race-partials")
        configuration.httpMaximumConnectionsPerHost = Self.tasks
        configuration.timeoutIntervalForRequest = 120
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func control(_ tasks: [URLSessionTask], _ dice: inout Dice) async {
        await Stress.onThreads(Self.threads, &dice) { dice in
            for _ in 0..<Self.callsOfThread {
                guard let task = dice.pick(tasks) else { break }
                if dice.once(in: 2) { task.suspend() } else { task.resume() }
            }
        }
    }

    private func expectCompletion(of tasks: [URLSessionTask], _ completions: Completions) async {
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        while !tasks.allSatisfy(completions.contain), ContinuousClock.now < deadline { await Stress.pause() }
        ledger.check(tasks.allSatisfy(completions.contain), "a running task does not complete")
    }
}

/// The tasks whose delegate has received their completion.
private final class Completions: NSObject, URLSessionDownloadDelegate, Sendable {
    private let tasks = Mutex<Set<Int>>([])

    func contain(_ task: URLSessionTask) -> Bool { tasks.withLock { $0.contains(task.taskIdentifier) } }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        _ = tasks.withLock { $0.insert(task.taskIdentifier) }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }
}
