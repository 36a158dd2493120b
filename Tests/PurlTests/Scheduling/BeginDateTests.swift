import Foundation
import Purl
import PurlTesting
import Testing

@Suite("earliestBeginDate", .timeLimit(.minutes(5)))
struct BeginDateTests {
    private let observer = TaskWitness()
    private let sandbox = Sandbox()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.fallback(.text("hello"))
    }

    private func run(_ observer: TaskWitness, in seconds: TimeInterval = 0.3) async -> (
        begin: Date, task: URLSessionTask
    ) {
        let session = sandbox.session(observer)
        let task = session.dataTask(with: server.url("/file"))
        let date = Date(timeIntervalSinceNow: seconds)
        task.earliestBeginDate = date
        #expect(task.earliestBeginDate == date)
        task.resume()
        await observer.completion()
        return (date, task)
    }

    @Test("willBeginDelayedRequest is called at the date, and not before")
    func called() async throws {
        let seen = LockedValue<Date?>(nil)
        let observer = TaskWitness(beginning: { _ in
            seen.withLock { $0 = Date() }
            return (.continueLoading, nil)
        })
        let (date, _) = await run(observer)
        #expect(
            observer.events == [
                .created, .delayed(path: "/file"), .response(200), .data(5), .metrics(transactions: 1),
                .completed(nil),
            ])
        let moment = try #require(seen.withLock { $0 })
        #expect(moment >= date)
    }

    @Test("useNewRequest sends the new request")
    func newRequest() async throws {
        let other = URLRequest(url: server.url("/other"))
        let (_, task) = await run(TaskWitness(beginning: { _ in (.useNewRequest, other) }))
        #expect(server.requests.map(\.path) == ["/other"])
        #expect(task.originalRequest?.url?.path == "/file")
        #expect(task.currentRequest?.url?.path == "/other")
        #expect(task.response?.url?.path == "/other")
    }

    @Test("useNewRequest without a request sends the original one")
    func missingRequest() async throws {
        _ = await run(TaskWitness(beginning: { _ in (.useNewRequest, nil) }))
        #expect(server.requests.map(\.path) == ["/file"])
    }

    @Test("cancel cancels the task")
    func cancels() async throws {
        let observer = TaskWitness(beginning: { _ in (.cancel, nil) })
        _ = await run(observer)
        #expect(observer.events.last == .completed(.cancelled))
        #expect(server.requests.isEmpty)
    }

    @Test("A task with a date in the past is offered to the delegate and begins at once")
    func past() async throws {
        _ = await run(observer, in: -10)
        #expect(observer.events.prefix(2) == [.created, .delayed(path: "/file")])
        #expect(observer.events.last == .completed(nil))
    }

    @Test("Without a date willBeginDelayedRequest is not called")
    func noDate() async throws {
        sandbox.session(observer).dataTask(with: server.url("/file")).resume()
        await observer.completion()
        #expect(!observer.events.contains(.delayed(path: "/file")))
    }

    @Test("A delayed task with a handler and no delegate begins by itself")
    func handler() async throws {
        let session = sandbox.session()
        let url = server.url("/file")
        let body = await withCheckedContinuation { (continuation: CheckedContinuation<Data?, Never>) in
            let task = session.dataTask(with: url) { data, _, _ in continuation.resume(returning: data) }
            task.earliestBeginDate = Date(timeIntervalSinceNow: 0.2)
            task.resume()
        }
        #expect(body == Data("hello".utf8))
    }

    @Test("A delayed task can be cancelled, suspended, or given another date")
    func changes() async throws {
        let session = sandbox.session(observer)
        let tasks = (0..<3).map { session.dataTask(with: server.url("/\($0)")) }
        for task in tasks {
            task.earliestBeginDate = .distantFuture
            task.resume()
        }
        tasks[0].cancel()
        await observer.completion()
        tasks[1].suspend()
        tasks[1].earliestBeginDate = nil
        tasks[2].earliestBeginDate = Date()
        await observer.completion(of: 2)
        #expect(server.requests.map(\.path) == ["/2"])
        tasks[1].resume()
        await observer.completion(of: 3)
        #expect(server.requests.map(\.path) == ["/2", "/1"])
    }

    @Test("timeoutIntervalForResource begins with the transfer")
    func resourceTime() async throws {
        let session = sandbox.session(observer) { $0.timeoutIntervalForResource = 5 }
        let task = session.dataTask(with: server.url("/file"))
        task.earliestBeginDate = Date(timeIntervalSinceNow: 6)
        task.resume()
        await observer.completion()
        #expect(observer.events.last == .completed(nil))
    }
}
