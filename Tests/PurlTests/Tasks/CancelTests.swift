import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Cancelling a task", .timeLimit(.minutes(5)))
struct CancelTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let content = GeneratedContent(size: 300_000, seed: 9)

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/stalled", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000))
        server.route("/deaf", .text("never").delayed(until: ServerGate()))
        return server
    }

    private func expectCancelled(_ error: URLError?, _ url: URL?) {
        #expect(error?.code == .cancelled)
        #expect(error?.failingURL == url)
        #expect(error?.failureSentence.isEmpty == false)
    }

    // MARK: At every stage

    @Test("A task that is cancelled before resume sends no request")
    func beforeResume() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: server.url("/file"))
        task.cancel()
        task.resume()
        await witness.completion()
        expectCancelled(witness.error(of: task), server.url("/file"))
        #expect((task.error as? URLError)?.code == .cancelled)
        #expect(witness.events == [.completed(.cancelled)])
        _ = try await session.data(from: server.url("/file"))
        #expect(server.requests.count == 1)
        #expect(witness.events == [.completed(.cancelled)])
    }

    @Test("Cancelling twice completes the task once")
    func twice() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: server.url("/stalled")).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        for _ in 0..<5 { task.cancel() }
        #expect(await task.cancelByProducingResumeData() == nil)
        await witness.completion()
        await server.waitUntilDisconnected()
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(witness.events == [.wrote(100_000, of: 300_000), .completed(.cancelled)])
        #expect(sandbox.partialNames == [])
        expectCancelled(witness.error(of: task), server.url("/stalled"))
    }

    @Test("Cancelling before the response closes the connection")
    func beforeResponse() async throws {
        let server = try makeServer()
        let task = sandbox.session(witness).dataTask(with: server.url("/deaf")).resumed()
        await server.waitForRequests(1)
        task.cancel()
        await witness.completion()
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
        #expect(witness.events == [.completed(.cancelled)])
        #expect(task.response == nil)
    }

    @Test("Cancelling a task that waits for a connection does not affect the others")
    func waiting() async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/first", .generated(content).delayed(until: gate))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        let first = session.dataTask(with: server.url("/first"))
        let waiting = session.dataTask(with: server.url("/moved"))
        let last = session.dataTask(with: server.url("/file"))
        for task in [first, waiting, last] { task.resume() }
        await gate.reached()
        waiting.cancel()
        await witness.completion()
        #expect(witness.events == [.completed(.cancelled)])
        gate.open()
        await witness.completion(of: 3)
        #expect(server.requests.map(\.path) == ["/first", "/file"])
        #expect(witness.data(of: last) == content.data)
    }

    @Test("Cancelling a download removes its file")
    func download() async throws {
        let server = try makeServer()
        let task = sandbox.session(witness).downloadTask(with: server.url("/stalled")).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        #expect(sandbox.partialNames.count == 1)
        task.cancel()
        await witness.completion()
        #expect(sandbox.partialNames == [])
        #expect(witness.error(of: task)?.downloadTaskResumeData == nil)
    }

    // MARK: From inside calls

    /// The call from which a task is cancelled.
    enum Call: CaseIterable, Sendable {
        case redirect, response, data, sent, wrote, file, becameDownload, completed

        func matches(_ event: Witness.Event) -> Bool {
            switch (self, event) {
            case (.redirect, .redirect), (.response, .response), (.data, .data), (.sent, .sent), (.wrote, .wrote),
                (.file, .file), (.becameDownload, .becameDownload), (.completed, .completed):
                true
            default:
                false
            }
        }
    }

    @Test("A task can be cancelled inside any delegate call", arguments: Call.allCases, CallQueue.allCases)
    func insideCall(_ call: Call, _ queue: CallQueue) async throws {
        let server = try makeServer()
        let witness = Witness(
            disposition: call == .becameDownload ? .becomeDownload : .allow,
            hook: { task, event in if call.matches(event) { task.cancel() } })
        let session = sandbox.session(witness, queue: queue.make())
        let stories: (URLSessionTask, [Witness.Event])
        switch call {
        case .redirect:
            stories = (
                session.dataTask(with: server.url("/moved")),
                [.redirect(302, to: "/file"), .completed(.cancelled)]
            )
        case .response:
            stories = (session.dataTask(with: server.url("/file")), [.response(200), .completed(.cancelled)])
        case .data:
            stories = (
                session.dataTask(with: server.url("/stalled")),
                [.response(200), .data(100_000), .completed(.cancelled)]
            )
        case .sent:
            var request = URLRequest(url: server.url("/deaf"))
            request.httpMethod = "POST"
            request.httpBody = Data(count: 1_000)
            stories = (session.dataTask(with: request), [.sent(1_000, of: 1_000), .completed(.cancelled)])
        case .wrote:
            stories = (
                session.downloadTask(with: server.url("/stalled")),
                [.wrote(100_000, of: 300_000), .completed(.cancelled)]
            )
        case .file:
            stories = (
                session.downloadTask(with: server.url("/file")),
                [.wrote(300_000, of: 300_000), .file(300_000), .completed(.cancelled)]
            )
        case .becameDownload:
            // The data task has completed by then: the download is another task.
            stories = (
                session.dataTask(with: server.url("/file")),
                [
                    .response(200), .becameDownload, .wrote(300_000, of: 300_000), .file(300_000), .completed(nil),
                ]
            )
        case .completed:
            stories = (
                session.dataTask(with: server.url("/file")), [.response(200), .data(300_000), .completed(nil)]
            )
        }
        stories.0.resume()
        await witness.completion()
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(witness.events.map(Self.withoutCounts) == stories.1.map(Self.withoutCounts))
        #expect(!server.requests.contains { $0.path == "/file" } || call != .redirect)
        #expect(sandbox.partialNames == [])
    }

    /// The number of bytes received before the cancellation varies.
    private static func withoutCounts(_ event: Witness.Event) -> Witness.Event {
        switch event {
        case .data: .data(0)
        case .wrote(_, let total): .wrote(0, of: total)
        default: event
        }
    }

    private final class CancelsItsDownload: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let witness = Witness(disposition: .becomeDownload)

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.becomeDownload)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
        ) {
            witness.urlSession(session, dataTask: dataTask, didBecome: downloadTask)
            downloadTask.cancel()
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            witness.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            witness.urlSession(session, task: task, didCompleteWithError: error)
        }
    }

    @Test("A download that a data task became can be cancelled inside didBecome", arguments: ["/file", "/stalled"])
    func becameDownload(_ path: String) async throws {
        let server = try makeServer()
        let delegate = CancelsItsDownload()
        let session = sandbox.session(delegate)
        session.dataTask(with: server.url(path)).resume()
        await delegate.witness.completion()
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(delegate.witness.events == [.becameDownload, .completed(.cancelled)])
        #expect(sandbox.partialNames == [])
    }

    // MARK: After the last byte

    @Test("Cancelling a complete download before its delivery removes the file")
    func undeliveredDownload() async throws {
        let server = try makeServer()
        let barrier = CallBarrier()
        let witness = Witness(hook: { _, event in if case .wrote = event { barrier.pass() } })
        let others = sandbox.session()
        let task = sandbox.session(witness).downloadTask(with: server.url("/file")).resumed()
        await barrier.reached()
        await server.wait { $0.requests.first?.ending == .complete }
        while task.countOfBytesReceived < 300_000 { _ = try await others.data(from: server.url("/moved")) }
        task.cancel()
        #expect(task.state == .canceling)
        barrier.open()
        await witness.completion()
        #expect(witness.events == [.wrote(300_000, of: 300_000), .completed(.cancelled)])
        expectCancelled(witness.error(of: task), server.url("/file"))
        #expect(sandbox.partialNames == [])
    }

    @Test("Cancelling a complete body before its delivery ends with cancelled")
    func undeliveredBody() async throws {
        let server = try makeServer()
        let barrier = CallBarrier()
        let witness = Witness(hook: { _, event in if case .data = event { barrier.pass() } })
        let others = sandbox.session()
        let task = sandbox.session(witness).dataTask(with: server.url("/file")).resumed()
        await barrier.reached()
        while task.countOfBytesReceived < 300_000 { _ = try await others.data(from: server.url("/moved")) }
        task.cancel()
        barrier.open()
        await witness.completion()
        #expect(witness.events.first == .response(200))
        #expect(witness.events.last == .completed(.cancelled))
        expectCancelled(witness.error(of: task), server.url("/file"))
    }

    @Test("A completion handler that was not called yet receives cancelled")
    func handlers() async throws {
        let server = try makeServer()
        let queue = try #require(CallQueue.serial.make())
        queue.isSuspended = true
        let session = sandbox.session(queue: queue)
        let others = sandbox.session()
        let results = Mutex<[(isNil: Bool, code: URLError.Code?)]>([])
        let data = session.dataTask(with: server.url("/file")) { data, _, error in
            results.withLock { $0.append((data == nil, (error as? URLError)?.code)) }
        }
        let download = session.downloadTask(with: server.url("/file")) { file, _, error in
            results.withLock { $0.append((file == nil, (error as? URLError)?.code)) }
        }
        for task in [data, download] {
            task.resume()
            while task.countOfBytesReceived < 300_000 { _ = try await others.data(from: server.url("/moved")) }
            task.cancel()
        }
        queue.isSuspended = false
        await SessionTasks.waitUntilCompleted(of: session)
        #expect(results.withLock { $0.map(\.isNil) } == [true, true])
        #expect(results.withLock { $0.map(\.code) } == [.cancelled, .cancelled])
        #expect(sandbox.partialNames == [])
    }
}
