import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The state of a task", .timeLimit(.minutes(5)))
struct TaskStateTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let content = GeneratedContent(size: 100_000, seed: 5)

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        server.route("/moved", .redirect(302, to: "/file"))
        return server
    }

    @Test("A task is suspended, then running, then completed")
    func states() async throws {
        let server = try makeServer()
        let states = Mutex<[(Witness.Event, URLSessionTask.State)]>([])
        let witness = Witness(hook: { task, event in states.withLock { $0.append((event, task.state)) } })
        let session = sandbox.session(witness)
        for task in [session.dataTask(with: server.url("/moved")), session.downloadTask(with: server.url("/moved"))] {
            #expect(task.state == .suspended)
            task.resume()
        }
        await witness.completion(of: 2)
        for (event, state) in states.withLock({ $0 }) {
            if case .completed = event {
                #expect(state == .completed)
            } else {
                #expect(state == .running)
            }
        }
    }

    @Test("A task that is not resumed sends no request")
    func notResumed() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/file"))
        _ = try await session.data(from: server.url("/moved"))
        #expect(task.state == .suspended)
        #expect(server.requests.count == 2)
        task.cancel()
        await witness.completion()
    }

    @Test("A cancelled task is canceling at once, and completed inside the completion")
    func canceling() async throws {
        let server = try makeServer()
        let last = Mutex<URLSessionTask.State?>(nil)
        let witness = Witness(hook: { task, _ in last.withLock { $0 = task.state } })
        let queue = try #require(CallQueue.serial.make())
        queue.isSuspended = true
        let task = sandbox.session(witness, queue: queue).dataTask(with: server.url("/file")).resumed()
        #expect(task.state == .running)
        task.cancel()
        #expect(task.state == .canceling)
        task.resume()
        task.suspend()
        #expect(task.state == .canceling)
        queue.isSuspended = false
        await witness.completion()
        #expect(last.withLock { $0 } == .completed)
        #expect(task.state == .completed)
        // The response may already have been on its way to the delegate.
        #expect(witness.events.filter { $0 != .response(200) } == [.completed(.cancelled)])
    }

    @Test("A completed task stays completed")
    func completed() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/file")).resumed()
        await witness.completion()
        task.suspend()
        task.resume()
        task.resume()
        task.cancel()
        _ = try await session.data(from: server.url("/file"))
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(task.state == .completed)
        #expect(task.error == nil)
        #expect(server.requests.count == 2)
        #expect(witness.events == [.response(200), .data(100_000), .completed(nil)])
    }

    @Test("cancelByProducingResumeData has no effect on a completed download")
    func completedDownload() async throws {
        let server = try makeServer()
        let task = sandbox.session(witness).downloadTask(with: server.url("/file")).resumed()
        await witness.completion()
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(task.state == .completed)
        #expect(witness.events == [.wrote(100_000, of: 100_000), .file(100_000), .completed(nil)])
        #expect(sandbox.partialNames == [])
    }

    @Test("Each suspend needs a resume")
    func nestedSuspensions() async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/file", .generated(content).delayed(until: gate))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/file"))
        task.suspend()
        task.suspend()
        task.resume()
        task.resume()
        #expect(task.state == .suspended)
        _ = try await session.data(from: server.url("/nothing"))
        #expect(server.requests.map(\.path) == ["/nothing"])
        task.resume()
        #expect(task.state == .running)
        gate.open()
        await witness.completion()
        #expect(witness.data(of: task) == content.data)
        #expect(server.requests.map(\.path) == ["/nothing", "/file"])
    }

    @Test("Each suspend of a running task needs a resume")
    func nestedWhileRunning() async throws {
        let server = try makeServer()
        let (gate, end) = (ServerGate(), ServerGate())
        server.route(
            "/slow",
            .generated(content).stalled(afterBytes: 10_000, until: gate).stalled(afterBytes: 60_000, until: end))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/slow")).resumed()
        await witness.wait { $0.contains(.data(10_000)) }
        task.suspend()
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        gate.open()
        await end.reached()
        _ = try await session.data(from: server.url("/file"))
        #expect(witness.events == [.response(200), .data(10_000)])
        task.resume()
        #expect(task.state == .running)
        end.open()
        await witness.completion()
        #expect(witness.data(of: task) == content.data)
    }

    @Test("Resuming a running task sends no second request and does not offset a later suspend")
    func resumedTwice() async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/slow", .generated(content).delayed(until: gate))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/slow"))
        for _ in 0..<5 { task.resume() }
        await gate.reached()
        task.suspend()
        #expect(task.state == .suspended)
        task.resume()
        gate.open()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(100_000), .completed(nil)])
        #expect(server.requests.count == 1)
    }
}

@Suite("A task that was not made by a session")
struct SessionlessTaskTests {
    @Test("Calls on the task have no effect")
    func calls() {
        let task = URLSessionTask()
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        task.cancel()
        #expect(task.state == .suspended)
        #expect(task.error == nil)
        #expect(task.response == nil)
        #expect(task.originalRequest == nil)
        #expect(task.currentRequest == nil)
        #expect(task.countOfBytesReceived == 0)
        #expect(task.copy() as? URLSessionTask === task)
        #expect(task.progress.isIndeterminate)
    }

    @Test("Properties that the caller sets are kept")
    func properties() {
        let task = URLSessionTask()
        task.taskDescription = "nothing"
        task.priority = 2
        task.earliestBeginDate = .distantFuture
        #expect(task.taskDescription == "nothing")
        #expect(task.priority == 1)
        #expect(task.earliestBeginDate == .distantFuture)
    }

    @Test("A download without a session has no resume data")
    func resumeData() async {
        #expect(await URLSessionDownloadTask().cancelByProducingResumeData() == nil)
    }
}
