import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The invalidation of a session", .timeLimit(.minutes(5)))
struct InvalidationTests {
    private let sandbox = Sandbox()
    private let witness = Witness()

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 10_000))
        server.route("/stalled", .generated(size: 10_000).stalled(afterBytes: 100))
        return server
    }

    /// How a session is invalidated.
    enum Way: CaseIterable, Sendable {
        case finishing, cancelling, finishingTwice, cancellingTwice, finishingThenCancelling, cancellingThenFinishing

        func invalidate(_ session: URLSession) {
            switch self {
            case .finishing: session.finishTasksAndInvalidate()
            case .cancelling: session.invalidateAndCancel()
            case .finishingTwice:
                session.finishTasksAndInvalidate()
                session.finishTasksAndInvalidate()
            case .cancellingTwice:
                session.invalidateAndCancel()
                session.invalidateAndCancel()
            case .finishingThenCancelling:
                session.finishTasksAndInvalidate()
                session.invalidateAndCancel()
            case .cancellingThenFinishing:
                session.invalidateAndCancel()
                session.finishTasksAndInvalidate()
            }
        }

        var letsTasksFinish: Bool { self == .finishing || self == .finishingTwice }
    }

    @Test("All tasks complete, then didBecomeInvalid is called once", arguments: Way.allCases, CallQueue.allCases)
    func order(_ way: Way, _ queue: CallQueue) async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/slow", .generated(size: 10_000).stalled(afterBytes: 100, until: gate))
        let session = sandbox.session(witness, queue: queue.make())
        session.dataTask(with: server.url("/slow")).resume()
        await witness.wait { $0.contains(.data(100)) }
        way.invalidate(session)
        gate.open()
        await witness.wait { $0.contains(.invalid) }
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        if way.letsTasksFinish {
            #expect(witness.events == [.response(200), .data(10_000), .completed(nil), .invalid])
        } else {
            // Bytes received before the invalidation may still be delivered.
            #expect(witness.events.first == .response(200))
            #expect(witness.events.suffix(2) == [.completed(.cancelled), .invalid])
            #expect(witness.events.count == 4)
        }
        #expect(session.delegate == nil)
        await server.waitUntilDisconnected()
    }

    @Test("Without tasks didBecomeInvalid is called at once", arguments: Way.allCases)
    func noTasks(_ way: Way) async throws {
        let session = sandbox.session(witness)
        way.invalidate(session)
        await witness.wait { $0.contains(.invalid) }
        way.invalidate(session)
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(witness.events == [.invalid])
    }

    @Test("An invalid session releases its delegate", arguments: Way.allCases)
    func delegate(_ way: Way) async throws {
        let server = try makeServer()
        weak var weakDelegate: Witness?
        let session: URLSession
        do {
            let witness = Witness()
            weakDelegate = witness
            session = sandbox.session(witness)
            #expect(session.delegate === witness)
            session.dataTask(with: server.url("/file")).resume()
            way.invalidate(session)
            await witness.wait { $0.contains(.invalid) }
        }
        _ = await SessionTasks.unfinished(of: session)
        #expect(session.delegate == nil)
        #expect(weakDelegate == nil)
    }

    @Test("invalidateAndCancel cancels tasks in every stage")
    func cancelling() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 2 }
        let stalled = [
            session.dataTask(with: server.url("/stalled")), session.downloadTask(with: server.url("/stalled")),
        ]
        for task in stalled { task.resume() }
        await witness.wait { $0.contains(.data(100)) && $0.contains(.wrote(100, of: 10_000)) }
        let waiting = session.downloadTask(with: server.url("/stalled")).resumed()
        let fresh = session.dataTask(with: server.url("/file"))
        let suspended = session.dataTask(with: server.url("/file")).resumed()
        suspended.suspend()
        session.invalidateAndCancel()
        await witness.wait { $0.contains(.invalid) }
        await server.waitUntilDisconnected()
        for task in stalled + [waiting, fresh, suspended] {
            #expect(witness.error(of: task)?.code == .cancelled)
            #expect(task.state == .completed)
        }
        #expect(witness.events.count { $0 == .completed(.cancelled) } == 5)
        #expect(witness.events.last == .invalid)
        #expect(server.requests.count == 2)
        #expect(sandbox.partialNames == [])
    }

    @Test("invalidateAndCancel sends no request that waits for a connection")
    func cancellingManyThatWait() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 2 }
        let tasks = (0..<500).map { _ in session.dataTask(with: server.url("/stalled")) }
        for task in tasks { task.resume() }
        await witness.wait { $0.count { $0 == .response(200) } == 2 }
        session.invalidateAndCancel()
        await witness.wait { $0.contains(.invalid) }
        await server.waitUntilDisconnected()
        #expect(witness.events.count { $0 == .completed(.cancelled) } == 500)
        #expect(server.requests.count == 2)
    }

    @Test("finishTasksAndInvalidate waits for tasks that are not resumed yet")
    func finishing() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/file"))
        session.finishTasksAndInvalidate()
        #expect(await SessionTasks.unfinished(of: session) == [task])
        #expect(witness.events == [])
        task.resume()
        await witness.wait { $0.contains(.invalid) }
        #expect(witness.events == [.response(200), .data(10_000), .completed(nil), .invalid])
    }

    @Test("A task may become a download after finishTasksAndInvalidate")
    func becomesDownload() async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/slow", .generated(size: 10_000).delayed(until: gate))
        let witness = Witness(disposition: .becomeDownload)
        let session = sandbox.session(witness)
        session.dataTask(with: server.url("/slow")).resume()
        await gate.reached()
        session.finishTasksAndInvalidate()
        gate.open()
        await witness.wait { $0.contains(.invalid) }
        #expect(
            witness.events == [
                .response(200), .becameDownload, .wrote(10_000, of: 10_000), .file(10_000), .completed(nil), .invalid,
            ])
        #expect(sandbox.partialNames == [])
    }

    @Test("A session can be invalidated inside the last completion")
    func insideCompletion() async throws {
        let server = try makeServer()
        let invalidate = Mutex<(@Sendable () -> Void)?>(nil)
        let witness = Witness(hook: { _, event in
            if case .completed = event { invalidate.withLock { $0 }?() }
        })
        let session = sandbox.session(witness)
        invalidate.withLock { $0 = { [weak session] in session?.invalidateAndCancel() } }
        session.dataTask(with: server.url("/file")).resume()
        await witness.wait { $0.contains(.invalid) }
        #expect(witness.events == [.response(200), .data(10_000), .completed(nil), .invalid])
    }

    // MARK: Tasks of an invalid session

    @Test("A task of an invalid session fails once", arguments: Way.allCases)
    func laterTask(_ way: Way) async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        way.invalidate(session)
        let results = Mutex<[(isEmpty: Bool, error: URLError?)]>([])
        let data = session.dataTask(with: server.url("/file")) { data, response, error in
            results.withLock { $0.append((data == nil && response == nil, error as? URLError)) }
        }
        let download = session.downloadTask(with: server.url("/file")) { file, response, error in
            results.withLock { $0.append((file == nil && response == nil, error as? URLError)) }
        }
        let silent = session.dataTask(with: server.url("/file"))
        for task in [data, download, silent] {
            task.resume()
            task.resume()
        }
        await #expect(throws: URLError.self) { try await session.data(from: server.url("/file")) }
        await #expect(throws: URLError.self) { try await session.download(from: server.url("/file")) }
        while silent.state != .completed, !Task.isCancelled { _ = await SessionTasks.unfinished(of: session) }
        #expect(results.withLock { $0.map(\.isEmpty) } == [true, true])
        for result in results.withLock({ $0 }) {
            #expect(result.error?.failingURL == server.url("/file"))
            #expect(result.error?.failureSentence.isEmpty == false)
        }
        #expect(silent.error is URLError)
        #expect(server.requests.isEmpty)
        #expect(server.acceptedConnections == 0)
        #expect(witness.events.count { $0 == .invalid } == 1)
        #expect(witness.events.last == .invalid)
    }

    @Test("A task of an invalid session that is cancelled before it is resumed fails once")
    func laterTaskCancelled() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        session.invalidateAndCancel()
        let calls = Mutex(0)
        let task = session.dataTask(with: server.url("/file")) { _, _, _ in calls.withLock { $0 += 1 } }
        task.cancel()
        task.resume()
        while task.state != .completed, !Task.isCancelled { _ = await SessionTasks.unfinished(of: session) }
        _ = await SessionTasks.unfinished(of: session)
        #expect(calls.withLock { $0 } == 1)
        #expect((task.error as? URLError)?.code == .cancelled)
    }

    @Test("A task made during the invalidation completes once, before the session or with its error")
    func concurrentTasks() async throws {
        let server = try makeServer()
        for _ in 0..<20 {
            let witness = Witness()
            let session = sandbox.session(witness)
            let handled = CallCounter()
            await withTaskGroup { group in
                for index in 0..<20 {
                    group.addTask {
                        if index == 10 { session.finishTasksAndInvalidate() }
                        await withCheckedContinuation { continuation in
                            session.dataTask(with: server.url("/file")) { _, _, _ in
                                handled.add()
                                continuation.resume()
                            }.resume()
                        }
                    }
                    group.addTask { session.dataTask(with: server.url("/file")).resume() }
                }
            }
            await witness.wait { $0.contains(.invalid) }
            #expect(handled.count == 20)
            #expect(witness.events.count { $0 == .invalid } == 1)
            #expect(witness.events.last == .invalid)
        }
        await server.waitUntilDisconnected()
    }
}
