import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The caller's control of the delegate queue", .timeLimit(.minutes(5)))
struct QueueControlTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let content = GeneratedContent(size: 500_000, seed: 11)

    @Test("The calls of one session never overlap, however many tasks it has")
    func overlap() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).chunked(size: 20_000))
        let log = CallLog()
        let witness = Witness(hook: { _, _ in log.visit() })
        let session = sandbox.session(witness, queue: CallQueue.concurrent.make())
        let tasks = (0..<20).map { index in
            index.isMultiple(of: 2)
                ? session.dataTask(with: server.url("/file")) : session.downloadTask(with: server.url("/file"))
        }
        for task in tasks { task.resume() }
        await witness.completion(of: 20)
        #expect(log.mostAtOnce == 1)
        #expect(log.allRan(on: session.delegateQueue))
        for task in tasks {
            #expect((task is URLSessionDownloadTask ? witness.file(of: task) : witness.data(of: task)) == content.data)
        }
        #expect(sandbox.partialNames == [])
    }

    @Test("A suspended queue delays every call", arguments: [CallQueue.serial, .concurrent])
    func suspended(_ kind: CallQueue) async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let queue = try #require(kind.make())
        queue.isSuspended = true
        let session = sandbox.session(witness, queue: queue)
        session.downloadTask(with: server.url("/file")).resume()
        await server.wait { $0.requests.first?.ending == .complete }
        _ = try await session.data(from: server.url("/file"))
        #expect(witness.events == [])
        queue.isSuspended = false
        await witness.completion()
        #expect(witness.events == [.wrote(500_000, of: 500_000), .file(500_000), .completed(nil)])
    }

    /// A delegate that adds an operation to its queue from within each call.
    private final class Adder: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, Sendable {
        private let log = EventLog<String>()

        var events: [String] { log.events }

        func wait(for count: Int) async { await log.wait { $0.count >= count } }

        private func enter(_ name: String) {
            log.append(name)
            OperationQueue.current?.addOperation { [log] in log.append("after \(name)") }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            enter("response")
            completionHandler(.becomeDownload)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
        ) {
            enter("download")
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            enter("file")
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            enter("metrics")
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            enter("end")
        }
    }

    @Test("On a given queue a task's last calls are one operation, and each of the others is one")
    func operations() async throws {
        let server = try LoopbackServer()
        server.route("/file", .text("content"))
        let adder = Adder()
        sandbox.session(adder, queue: CallQueue.serial.make()).dataTask(with: server.url("/file")).resume()
        await adder.wait(for: 10)
        #expect(
            adder.events == [
                "response", "after response", "download", "after download",
                "file", "metrics", "end", "after file", "after metrics", "after end",
            ])
    }

    @Test("Suspending the queue between calls loses no call")
    func suspendedBetweenCalls() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/file", .generated(content).stalled(afterBytes: 200_000, until: gate))
        let queue = try #require(CallQueue.concurrent.make())
        let session = sandbox.session(witness, queue: queue)
        let task = session.dataTask(with: server.url("/file")).resumed()
        await witness.wait { $0.contains(.data(200_000)) }
        queue.isSuspended = true
        gate.open()
        await server.waitUntilIdle()
        _ = try await session.data(from: server.url("/nothing"))
        #expect(witness.events == [.response(200), .data(200_000)])
        #expect(task.state == .running)
        queue.isSuspended = false
        await witness.completion()
        #expect(witness.events == [.response(200), .data(500_000), .completed(nil)])
        #expect(witness.data(of: task) == content.data)
    }

    @Test(
        "A delegate that suspends its queue in a call receives no other before the queue runs again",
        arguments: [CallQueue.serial, .concurrent, .own])
    func suspendedInCall(_ kind: CallQueue) async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).chunked(size: 20_000))
        let queues = Mutex<[OperationQueue]>([])
        let witness = Witness(hook: { _, _ in
            queues.withLock { queues in
                for queue in queues { queue.isSuspended = true }
                queues = []
            }
        })
        let session = sandbox.session(witness, queue: kind.make())
        queues.withLock { $0 = [session.delegateQueue] }
        for _ in 0..<10 { session.dataTask(with: server.url("/file")).resume() }
        await witness.wait { !$0.isEmpty }
        let others = sandbox.session()
        for _ in 0..<10 { _ = try await others.data(from: server.url("/nothing")) }
        #expect(witness.events == [.response(200)])
        session.delegateQueue.isSuspended = false
        await witness.completion(of: 10)
        #expect(witness.events.count { $0 == .completed(nil) } == 10)
    }

    enum Place: CaseIterable, Sendable {
        case queue, ownQueue, underlyingQueue
    }

    @Test("What a delegate adds to its queue from within a call runs before the next call", arguments: Place.allCases)
    func addedInCall(_ place: Place) async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).chunked(size: 20_000))
        let log = EventLog<String>()
        let queue = OperationQueue()
        let underlying = DispatchQueue(label: "underlying")
        queue.maxConcurrentOperationCount = 1
        if place == .underlyingQueue { queue.underlyingQueue = underlying }
        let added = Mutex<OperationQueue?>(nil)
        let witness = Witness(hook: { _, event in
            log.append("call")
            if place == .underlyingQueue {
                underlying.async { log.append("added") }
            } else {
                added.withLock { $0 }?.addOperation { log.append("added") }
            }
        })
        let session = sandbox.session(witness, queue: place == .ownQueue ? nil : queue)
        added.withLock { $0 = session.delegateQueue }
        for _ in 0..<10 { session.dataTask(with: server.url("/file")).resume() }
        await witness.completion(of: 10)
        await log.wait { $0.count.isMultiple(of: 2) }
        #expect(log.events == (0..<log.events.count / 2).flatMap { _ in ["call", "added"] })
    }

    @Test("Cancelling the queue's operations loses no call", arguments: [CallQueue.serial, .concurrent])
    func cancelledOperations(_ kind: CallQueue) async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).chunked(size: 5_000))
        let queue = try #require(kind.make())
        // All waiting operations are cancelled in each call, and again while the queue is suspended.
        let witness = Witness(hook: { _, _ in queue.cancelAllOperations() })
        let session = sandbox.session(witness, queue: queue)
        queue.isSuspended = true
        let tasks = (0..<6).map { _ in session.dataTask(with: server.url("/file")) }
        for task in tasks { task.resume() }
        await server.waitForRequests(6)
        queue.cancelAllOperations()
        queue.isSuspended = false
        await witness.completion(of: 6)
        for task in tasks { #expect(witness.data(of: task) == content.data) }
        #expect(witness.events.count { $0 == .response(200) } == 6)
        #expect(witness.events.count { $0 == .completed(nil) } == 6)
    }

    @Test("Cancelling the queue's operations loses no completion handler")
    func cancelledHandlers() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let queue = try #require(CallQueue.serial.make())
        queue.isSuspended = true
        let session = sandbox.session(queue: queue)
        let data = await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/file")) { data, _, _ in continuation.resume(returning: data) }.resume()
            Task {
                await server.wait { $0.requests.first?.ending == .complete }
                queue.cancelAllOperations()
                queue.isSuspended = false
            }
        }
        #expect(data == content.data)
    }

    @Test("A session's own queue that is suspended after a call makes no other before it runs again")
    func suspendedAfterCall() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let session = sandbox.session(witness)
        for round in 0..<10 {
            session.dataTask(with: server.url("/file")).resume()
            await witness.completion(of: 2 * round + 1)
            session.delegateQueue.isSuspended = true
            let events = witness.events
            session.dataTask(with: server.url("/file")).resume()
            await server.waitForRequests(3 * round + 2)
            _ = try await session.data(from: server.url("/file"))
            #expect(witness.events == events)
            session.delegateQueue.isSuspended = false
            await witness.completion(of: 2 * round + 2)
        }
    }

    @Test("A program that waits for a session's own queue finds it without an operation")
    func waitedFor() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let session = sandbox.session(witness)
        for round in 1...10 {
            session.dataTask(with: server.url("/file")).resume()
            await witness.completion(of: round)
            // Not from a thread of Swift's, which must not be blocked.
            let count = await withCheckedContinuation { continuation in
                DispatchQueue(label: "waits").async { [queue = session.delegateQueue] in
                    queue.waitUntilAllOperationsAreFinished()
                    continuation.resume(returning: queue.operationCount)
                }
            }
            #expect(count == 0)
        }
    }

    @Test("The caller's own operations run between the calls")
    func ownOperations() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/file", .generated(content).stalled(afterBytes: 100_000, until: gate))
        let queue = try #require(CallQueue.serial.make())
        sandbox.session(witness, queue: queue).dataTask(with: server.url("/file")).resume()
        await witness.wait { $0.contains(.data(100_000)) }
        await withCheckedContinuation { continuation in
            queue.addOperation { continuation.resume() }
        }
        #expect(witness.events == [.response(200), .data(100_000)])
        gate.open()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(500_000), .completed(nil)])
    }

    @Test("A task that is made and awaited inside a call completes")
    func nestedTask() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let second = Mutex<URLSessionTask?>(nil)
        let witness = Witness(hook: { task, event in
            guard case .completed = event, task.taskIdentifier == 1, let url = task.originalRequest?.url else { return }
            let next = URLSession.shared.dataTask(with: url) { _, _, _ in }
            second.withLock { $0 = next }
            next.resume()
        })
        sandbox.session(witness).dataTask(with: server.url("/file")).resume()
        await server.waitForRequests(2)
        await witness.completion()
        #expect(second.withLock { $0 }?.state != .suspended)
        #expect(witness.events == [.response(200), .data(500_000), .completed(nil)])
    }
}
