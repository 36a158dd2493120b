import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Delegate calls about a task beside its response", .timeLimit(.minutes(5)))
struct TaskDelegateCallTests {
    private let observer = TaskWitness()
    private let sandbox = Sandbox()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.fallback(.text("hello"))
    }

    @Test("didCreateTask is called for every task, resumed or not")
    func created() async throws {
        let session = sandbox.session(observer)
        let url = server.url("/file")
        let tasks: [URLSessionTask] = [
            session.dataTask(with: url), session.downloadTask(with: url), session.dataTask(with: url) { _, _, _ in },
            session.uploadTask(with: URLRequest(url: url), from: Data()), session.downloadTask(withResumeData: Data()),
        ]
        await observer.wait { $0.count == 5 }
        #expect(observer.events == Array(repeating: .created, count: 5))
        #expect(observer.record.tasks == tasks.map(\.taskIdentifier))
    }

    @Test("didCreateTask of an async call goes to its own delegate, or to the session's without one")
    func createdByAsync() async throws {
        let (own, other) = (TaskWitness(), TaskWitness())
        let session = sandbox.session(other)
        _ = try await session.data(from: server.url("/1"), delegate: own)
        _ = try await session.data(from: server.url("/2"))
        #expect(own.events.first == .created)
        #expect(own.record.tasks.first == 1)
        await other.wait { $0.count == 2 }
        #expect(other.events == [.created, .metrics(transactions: 1)])
        #expect(other.record.tasks == [2, 2])
    }

    @Test(
        "didReceiveInformationalResponse is called with its fields before the response",
        arguments: [100, 102, 103, 199])
    func interim(status: Int) async throws {
        let url = server.route("/hints", .text("hello").interim(status, fields: ["Link": "</style.css>"]))
        sandbox.session(observer).dataTask(with: url).resume()
        await observer.completion()
        #expect(observer.events.prefix(3) == [.created, .interim(status), .response(200)])
        let response = try #require(observer.informational.first)
        #expect(response.url == url)
        #expect(response.value(forHTTPHeaderField: "Link") == "</style.css>")
    }

    @Test("Several informational responses are delivered in order")
    func severalInterim() async throws {
        let reply = Reply.text("hello").interim(102).interim(103).interim(103)
        sandbox.session(observer).dataTask(with: server.route("/hints", reply)).resume()
        await observer.completion()
        #expect(observer.events.dropFirst().prefix(3) == [.interim(102), .interim(103), .interim(103)])
    }

    @Test("Bytes are delivered as they arrive, or in one call with prefersIncrementalDelivery false")
    func wholeDelivery() async throws {
        let gate = ServerGate()
        let url = server.route("/file", .generated(size: 200_000).stalled(afterBytes: 100_000, until: gate))
        let session = sandbox.session(observer)
        let (first, second) = (session.dataTask(with: url), session.dataTask(with: url))
        #expect(first.prefersIncrementalDelivery)
        second.prefersIncrementalDelivery = false
        first.resume()
        second.resume()
        await observer.wait { events in
            events.reduce(0) { if case .data(let count) = $1 { $0 + count } else { $0 } } >= 100_000
        }
        gate.open()
        await observer.completion(of: 2)
        let seen = zip(observer.record.tasks, observer.events)
        #expect(seen.filter { $0.0 == second.taskIdentifier }.map(\.1).contains(.data(200_000)))
        #expect(!seen.filter { $0.0 == first.taskIdentifier }.map(\.1).contains(.data(200_000)))
    }

    @Test("prefersIncrementalDelivery is false for tasks with a handler and for downloads, until it is set")
    func incrementalDefaults() {
        let session = sandbox.session()
        let url = server.url("/file")
        let request = URLRequest(url: url)
        let incremental: [URLSessionTask] = [
            session.dataTask(with: url), session.uploadTask(with: request, from: Data()),
            session.uploadTask(withStreamedRequest: request), session.webSocketTask(with: url),
            session.streamTask(withHostName: "localhost", port: 1),
        ]
        let whole: [URLSessionTask] = [
            session.dataTask(with: url) { _, _, _ in },
            session.uploadTask(with: request, from: Data()) { _, _, _ in },
            session.downloadTask(with: url), session.downloadTask(with: url) { _, _, _ in },
        ]
        #expect(incremental.map(\.prefersIncrementalDelivery) == incremental.map { _ in true })
        #expect(whole.map(\.prefersIncrementalDelivery) == whole.map { _ in false })
        for task in whole { task.prefersIncrementalDelivery = true }
        #expect(whole.map(\.prefersIncrementalDelivery) == whole.map { _ in true })
    }

    @Test("With prefersIncrementalDelivery false a long body is delivered a buffer at a time")
    func portions() async throws {
        let session = sandbox.session(observer) { $0.limits.bufferedBytesPerTask = 50_000 }
        let task = session.dataTask(with: server.route("/file", .generated(size: 1_000_000)))
        task.prefersIncrementalDelivery = false
        task.resume()
        await observer.completion()
        let counts = observer.events.compactMap { if case .data(let count) = $0 { count } else { nil } }
        #expect(counts.reduce(0, +) == 1_000_000)
        #expect(counts.dropLast().allSatisfy { $0 >= 50_000 })
    }

    @Test("With prefersIncrementalDelivery false a lost connection delivers the received bytes")
    func brokenWhole() async throws {
        let session = sandbox.session(observer)
        let task = session.dataTask(with: server.route("/file", .generated(size: 5000).cut(afterBytes: 1000)))
        task.prefersIncrementalDelivery = false
        task.resume()
        await observer.completion()
        #expect(observer.events.contains(.data(1000)))
        #expect(observer.events.last == .completed(.networkConnectionLost))
    }

    @Test("Hints of tasks, configurations and requests are kept")
    func hints() throws {
        let session = sandbox.session()
        let task = session.dataTask(with: server.url("/file"))
        #expect(task.countOfBytesClientExpectsToSend == NSURLSessionTransferSizeUnknown)
        #expect(task.countOfBytesClientExpectsToReceive == NSURLSessionTransferSizeUnknown)
        task.countOfBytesClientExpectsToSend = 100
        task.countOfBytesClientExpectsToReceive = 2000
        #expect(task.countOfBytesClientExpectsToSend == 100)
        #expect(task.countOfBytesClientExpectsToReceive == 2000)
        let configuration = URLSessionConfiguration.default
        #expect(!configuration.httpShouldUsePipelining)
        #expect(!configuration.shouldUseExtendedBackgroundIdleMode)
        configuration.httpShouldUsePipelining = true
        configuration.shouldUseExtendedBackgroundIdleMode = true
        let copy = URLSession(configuration: configuration).configuration
        #expect(copy.httpShouldUsePipelining)
        #expect(copy.shouldUseExtendedBackgroundIdleMode)
        var request = URLRequest(url: server.url("/file"))
        request.httpShouldUsePipelining = true
        #expect(request.httpShouldUsePipelining)
    }
}
