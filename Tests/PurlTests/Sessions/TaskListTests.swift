import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The task lists of a session, flush and reset", .timeLimit(.minutes(5)))
struct TaskListTests {
    private let sandbox = Sandbox()

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 10_000))
        server.route("/stalled", .generated(size: 10_000).stalled(afterBytes: 100))
        return server
    }

    @Test("allTasks has the tasks that have not completed, oldest first", arguments: CallQueue.allCases)
    func order(_ queue: CallQueue) async throws {
        let server = try makeServer()
        let witness = Witness()
        let session = sandbox.session(witness, queue: queue.make())
        #expect(await SessionTasks.unfinished(of: session) == [])
        let running = session.dataTask(with: server.url("/stalled"))
        let quick = session.dataTask(with: server.url("/file"))
        let fresh = session.downloadTask(with: server.url("/file"))
        #expect(await SessionTasks.unfinished(of: session) == [running, quick, fresh])
        running.resume()
        quick.resume()
        await witness.completion()
        #expect(await SessionTasks.unfinished(of: session) == [running, fresh])
        running.cancel()
        fresh.cancel()
        await witness.completion(of: 3)
        #expect(await SessionTasks.unfinished(of: session) == [])
    }

    @Test("tasks has the data, upload and download tasks apart")
    func kinds() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        let data = session.dataTask(with: server.url("/file"))
        let download = session.downloadTask(with: server.url("/file"))
        let handled = session.dataTask(with: server.url("/file")) { _, _, _ in }
        let (datas, uploads, downloads) = await withCheckedContinuation { continuation in
            session.getTasksWithCompletionHandler { continuation.resume(returning: ($0, $1, $2)) }
        }
        #expect(datas == [data, handled])
        #expect(uploads == [])
        #expect(downloads == [download])
    }

    @Test("The lists are passed on the delegate queue after earlier calls")
    func queue() async throws {
        let server = try makeServer()
        let log = CallLog()
        let barrier = CallBarrier()
        let witness = Witness(hook: { _, event in
            log.visit()
            if case .completed = event { barrier.pass() }
        })
        let session = sandbox.session(witness, queue: CallQueue.concurrent.make())
        session.dataTask(with: server.url("/file")).resume()
        await barrier.reached()
        async let list = withCheckedContinuation { continuation in
            session.getAllTasks { tasks in
                log.visit()
                continuation.resume(returning: (tasks.count, witness.events.last))
            }
        }
        barrier.open()
        let (count, last) = await list
        #expect(count == 0)
        #expect(last == .completed(nil))
        #expect(log.allRan(on: session.delegateQueue))
        #expect(log.mostAtOnce == 1)
    }

    @Test("Inside its completion a task is not listed any more")
    func completion() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        let tasks = await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/file")) { _, _, _ in
                session.getAllTasks { continuation.resume(returning: $0) }
            }.resume()
        }
        #expect(tasks == [])
    }

    @Test("After invalidateAndCancel no task is listed, also when one is resumed late")
    func cancelled() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        let barrier = CallBarrier()
        session.delegateQueue.addOperation { barrier.pass() }
        let url = server.url("/stalled")
        let tasks = [session.dataTask(with: url), session.dataTask(with: url), session.downloadTask(with: url)]
        tasks[0].resume()
        // Before the calls about the cancelled tasks.
        let counts = EventLog<[Int]>()
        session.getAllTasks { counts.append([$0.count]) }
        session.getTasksWithCompletionHandler { counts.append([$0.count, $1.count, $2.count]) }
        session.invalidateAndCancel()
        for task in tasks + [session.dataTask(with: url)] { task.resume() }
        #expect(tasks.map(\.state) == [.canceling, .canceling, .canceling])
        barrier.open()
        await counts.wait { $0.count == 2 }
        #expect(counts.events == [[0], [0, 0, 0]])
        #expect(await session.allTasks == [])
    }

    @Test(
        "reset and flush call their handler on the queue, and later tasks use new connections",
        arguments: ["reset", "flush"])
    func renewal(_ name: String) async throws {
        let server = try makeServer()
        let session = sandbox.session(queue: CallQueue.concurrent.make())
        _ = try await session.data(from: server.url("/file"))
        _ = try await session.data(from: server.url("/file"))
        let isOnQueue = await withCheckedContinuation { continuation in
            let handler: @Sendable () -> Void = {
                continuation.resume(returning: OperationQueue.current === session.delegateQueue)
            }
            if name == "reset" {
                session.reset(completionHandler: handler)
            } else {
                session.flush(completionHandler: handler)
            }
        }
        #expect(isOnQueue)
        await server.waitUntilDisconnected()
        _ = try await session.data(from: server.url("/file"))
        #expect(server.requests.map(\.connection) == [1, 1, 2])
    }

    @Test("flush does not affect running tasks")
    func running() async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/slow", .generated(size: 10_000).stalled(afterBytes: 100, until: gate))
        let witness = Witness()
        let session = sandbox.session(witness)
        session.dataTask(with: server.url("/slow")).resume()
        await witness.wait { $0.contains(.data(100)) }
        await withCheckedContinuation { continuation in
            session.flush { continuation.resume() }
        }
        gate.open()
        await witness.completion()
        await server.waitUntilDisconnected()
        #expect(witness.events == [.response(200), .data(10_000), .completed(nil)])
    }
}
