import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("earliestBeginDate", .timeLimit(.minutes(5)))
struct BeginDateTests {
    /// What a test sees of one world.
    private struct Stage: Sendable {
        let world: World
        let server: Server
        let sandbox = Sandbox()

        init(_ world: World) {
            self.world = world
            server = world.server("mirror.example")
            server.server.fallback(.text("hello"))
        }

        func date(in seconds: TimeInterval) -> Date { world.date.addingTimeInterval(seconds) }

        /// Runs a task to its end, which begins in an hour.
        func run(_ observer: TaskWitness, in seconds: TimeInterval = 3600) async -> URLSessionTask {
            let task = sandbox.session(observer).dataTask(with: server.url("/file"))
            let date = date(in: seconds)
            task.earliestBeginDate = date
            #expect(task.earliestBeginDate == date)
            task.resume()
            await observer.completion()
            return task
        }
    }

    private func simulate(_ body: @escaping @Sendable (Stage) async throws -> Void) throws {
        try Simulation(1).run { world in try await body(Stage(world)) }
    }

    @Test("willBeginDelayedRequest is called at the date, and not before")
    func called() throws {
        try simulate { stage in
            let seen = LockedValue<Duration?>(nil)
            let observer = TaskWitness(beginning: { _ in
                seen.withLock { $0 = stage.world.elapsed }
                return (.continueLoading, nil)
            })
            _ = await stage.run(observer)
            #expect(
                observer.events == [
                    .created, .delayed(path: "/file"), .response(200), .data(5), .metrics(transactions: 1),
                    .completed(nil),
                ])
            let moment = try #require(seen.withLock { $0 })
            #expect((.seconds(3600) ... .seconds(3601)).contains(moment))
        }
    }

    @Test("useNewRequest sends the new request")
    func newRequest() throws {
        try simulate { stage in
            let other = URLRequest(url: stage.server.url("/other"))
            let task = await stage.run(TaskWitness(beginning: { _ in (.useNewRequest, other) }))
            #expect(stage.server.requests.map(\.path) == ["/other"])
            #expect(task.originalRequest?.url?.path == "/file")
            #expect(task.currentRequest?.url?.path == "/other")
            #expect(task.response?.url?.path == "/other")
        }
    }

    @Test("useNewRequest without a request sends the original one")
    func missingRequest() throws {
        try simulate { stage in
            _ = await stage.run(TaskWitness(beginning: { _ in (.useNewRequest, nil) }))
            #expect(stage.server.requests.map(\.path) == ["/file"])
        }
    }

    @Test("cancel cancels the task")
    func cancels() throws {
        try simulate { stage in
            let observer = TaskWitness(beginning: { _ in (.cancel, nil) })
            _ = await stage.run(observer)
            #expect(observer.events.last == .completed(.cancelled))
            #expect(stage.server.requests.isEmpty)
        }
    }

    @Test("A task with a date in the past is offered to the delegate and begins at once")
    func past() throws {
        try simulate { stage in
            let observer = TaskWitness()
            _ = await stage.run(observer, in: -10)
            #expect(observer.events.prefix(2) == [.created, .delayed(path: "/file")])
            #expect(observer.events.last == .completed(nil))
            #expect(stage.world.elapsed < .seconds(1))
        }
    }

    @Test("Without a date willBeginDelayedRequest is not called")
    func noDate() throws {
        try simulate { stage in
            let observer = TaskWitness()
            stage.sandbox.session(observer).dataTask(with: stage.server.url("/file")).resume()
            await observer.completion()
            #expect(!observer.events.contains(.delayed(path: "/file")))
        }
    }

    @Test("A delayed task with a handler and no delegate begins by itself")
    func handler() throws {
        try simulate { stage in
            let session = stage.sandbox.session()
            let (url, date) = (stage.server.url("/file"), stage.date(in: 3600))
            let body = await withCheckedContinuation { (continuation: CheckedContinuation<Data?, Never>) in
                let task = session.dataTask(with: url) { data, _, _ in continuation.resume(returning: data) }
                task.earliestBeginDate = date
                task.resume()
            }
            #expect(body == Data("hello".utf8))
            #expect(stage.world.elapsed >= .seconds(3600))
        }
    }

    @Test("A delayed task can be cancelled, suspended, or given another date")
    func changes() throws {
        try simulate { stage in
            let observer = TaskWitness()
            let session = stage.sandbox.session(observer)
            let tasks = (0..<3).map { session.dataTask(with: stage.server.url("/\($0)")) }
            for task in tasks {
                task.earliestBeginDate = .distantFuture
                task.resume()
            }
            tasks[0].cancel()
            await observer.completion()
            tasks[1].suspend()
            tasks[1].earliestBeginDate = nil
            tasks[2].earliestBeginDate = stage.date(in: 0)
            await observer.completion(of: 2)
            #expect(stage.server.requests.map(\.path) == ["/2"])
            tasks[1].resume()
            await observer.completion(of: 3)
            #expect(stage.server.requests.map(\.path) == ["/2", "/1"])
        }
    }

    @Test("timeoutIntervalForResource begins with the transfer")
    func resourceTime() throws {
        try simulate { stage in
            let observer = TaskWitness()
            let session = stage.sandbox.session(observer) { $0.timeoutIntervalForResource = 60 }
            let task = session.dataTask(with: stage.server.url("/file"))
            task.earliestBeginDate = stage.date(in: 3600)
            task.resume()
            await observer.completion()
            #expect(observer.events.last == .completed(nil))
        }
    }
}
