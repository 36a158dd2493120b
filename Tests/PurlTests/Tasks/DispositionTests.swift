import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The delegate's answers to responses and redirects", .timeLimit(.minutes(5)))
struct DispositionTests {
    private let sandbox = Sandbox()

    typealias Answer = @Sendable (URLSession.ResponseDisposition) -> Void
    typealias RedirectAnswer = @Sendable (URLRequest?) -> Void

    /// A delegate that keeps the completion handlers for the test to call.
    private final class DeferringDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        private struct State {
            var answers: [Answer] = []
            var redirects: [(URLRequest, RedirectAnswer)] = []
        }

        let witness = Witness()
        private let state = Mutex(State())

        /// The completion handler of the last response.
        func response() async -> Answer? {
            await witness.wait { events in events.contains { if case .response = $0 { true } else { false } } }
            return state.withLock { $0.answers.last }
        }

        func redirect() async -> (URLRequest, RedirectAnswer)? {
            await witness.wait { events in events.contains { if case .redirect = $0 { true } else { false } } }
            return state.withLock { $0.redirects.last }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping Answer
        ) {
            state.withLock { $0.answers.append(completionHandler) }
            witness.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: { _ in })
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping RedirectAnswer
        ) {
            state.withLock { $0.redirects.append((request, completionHandler)) }
            witness.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: { _ in })
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
        ) {
            witness.urlSession(session, dataTask: dataTask, didBecome: downloadTask)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            witness.urlSession(session, dataTask: dataTask, didReceive: data)
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

    private let content = GeneratedContent(size: 200_000, seed: 13)

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        server.route("/empty", .status(204))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/elsewhere", .text("elsewhere"))
        return server
    }

    @Test("The body is not delivered before the delegate answers", arguments: ["/file", "/empty"])
    func late(_ path: String) async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        let task = session.dataTask(with: server.url(path)).resumed()
        let answer = try #require(await delegate.response())
        await server.waitUntilIdle()
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(delegate.witness.events.count == 1)
        #expect(task.countOfBytesReceived == 0)
        #expect(task.response != nil)
        #expect(task.state == .running)
        answer(.allow)
        await delegate.witness.completion()
        #expect(delegate.witness.events.last == .completed(nil))
        #expect(delegate.witness.data(of: task) == (path == "/file" ? content.data : Data()))
    }

    @Test("A response may be answered on another thread")
    func otherThread() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let task = sandbox.session(delegate).dataTask(with: server.url("/file")).resumed()
        let answer = try #require(await delegate.response())
        Thread.detachNewThread { answer(.allow) }
        await delegate.witness.completion()
        #expect(delegate.witness.data(of: task) == content.data)
    }

    @Test(
        "Only the first answer to a response counts",
        arguments: [
            [URLSession.ResponseDisposition.allow, .cancel, .becomeDownload],
            [.cancel, .allow, .becomeDownload],
            [.becomeDownload, .cancel, .allow],
        ])
    func firstAnswer(_ answers: [URLSession.ResponseDisposition]) async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        session.dataTask(with: server.url("/file")).resume()
        let answer = try #require(await delegate.response())
        for disposition in answers { answer(disposition) }
        await delegate.witness.completion()
        answer(.cancel)
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        let expected: [Witness.Event] =
            switch answers[0] {
            case .allow: [.response(200), .data(200_000), .completed(nil)]
            case .cancel: [.response(200), .completed(.cancelled)]
            case .becomeDownload: [.response(200), .becameDownload, .file(200_000), .completed(nil)]
            case .becomeStream: []
            }
        #expect(delegate.witness.events == expected)
        #expect(sandbox.partialNames == [])
    }

    @Test("Of concurrent answers only one counts")
    func manyThreads() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        sandbox.session(delegate).dataTask(with: server.url("/file")).resume()
        let answer = try #require(await delegate.response())
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { answer(.becomeDownload) } }
        }
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.response(200), .becameDownload, .file(200_000), .completed(nil)])
    }

    @Test("The answer cancel closes the connection")
    func cancel() async throws {
        let server = try makeServer()
        server.route("/stalled", .generated(content).stalled(afterBytes: 10))
        let witness = Witness(disposition: .cancel)
        let task = sandbox.session(witness).dataTask(with: server.url("/stalled")).resumed()
        await witness.completion()
        await server.waitUntilDisconnected()
        #expect(witness.events == [.response(200), .completed(.cancelled)])
        #expect(witness.error(of: task)?.failingURL == server.url("/stalled"))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test(
        "An answer after the task was cancelled has no effect",
        arguments: [URLSession.ResponseDisposition.allow, .cancel, .becomeDownload])
    func afterCancel(_ disposition: URLSession.ResponseDisposition) async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        let task = session.dataTask(with: server.url("/file")).resumed()
        let answer = try #require(await delegate.response())
        task.cancel()
        await delegate.witness.completion()
        answer(disposition)
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(delegate.witness.events == [.response(200), .completed(.cancelled)])
        #expect(sandbox.partialNames == [])
    }

    @Test("A task whose delegate does not answer can be cancelled")
    func unanswered() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        session.dataTask(with: server.url("/file")).resume()
        session.dataTask(with: server.url("/moved")).resume()
        _ = await delegate.response()
        _ = await delegate.redirect()
        session.invalidateAndCancel()
        await delegate.witness.completion(of: 2)
        await server.waitUntilDisconnected()
        #expect(delegate.witness.events.suffix(2) == [.completed(.cancelled), .completed(.cancelled)])
    }

    @Test("A suspended task stays suspended when its delegate answers")
    func suspended() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        let task = session.dataTask(with: server.url("/file")).resumed()
        let answer = try #require(await delegate.response())
        task.suspend()
        answer(.allow)
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(delegate.witness.events == [.response(200)])
        task.resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.response(200), .data(200_000), .completed(nil)])
    }

    @Test("A redirect waits for an answer from any thread")
    func redirect() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        let task = session.downloadTask(with: server.url("/moved")).resumed()
        let (request, answer) = try #require(await delegate.redirect())
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(server.requests.map(\.path) == ["/moved", "/elsewhere"])
        #expect(task.currentRequest?.url == server.url("/moved"))
        Thread.detachNewThread { answer(request) }
        await delegate.witness.completion()
        #expect(task.currentRequest?.url == server.url("/file"))
        #expect(delegate.witness.events == [.redirect(302, to: "/file"), .file(200_000), .completed(nil)])
    }

    @Test("Only the first answer to a redirect counts")
    func firstRedirectAnswer() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let session = sandbox.session(delegate)
        let task = session.downloadTask(with: server.url("/moved")).resumed()
        let (request, answer) = try #require(await delegate.redirect())
        answer(URLRequest(url: server.url("/elsewhere")))
        answer(request)
        answer(nil)
        await delegate.witness.completion()
        answer(request)
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(server.requests.map(\.path) == ["/moved", "/elsewhere", "/elsewhere"])
        #expect(delegate.witness.file(of: task) == Data("elsewhere".utf8))
        #expect(delegate.witness.events == [.redirect(302, to: "/file"), .file(9), .completed(nil)])
    }

    @Test("A task does not time out until its delegate answers")
    func timeout() async throws {
        let server = try makeServer()
        let delegate = DeferringDelegate()
        let clock = ManualClock()
        let session = sandbox.session(delegate) { $0.clock = clock }
        session.dataTask(with: URLRequest(url: server.url("/file"), timeoutInterval: 2)).resume()
        let answer = try #require(await delegate.response())
        try await clock.pass(3)
        answer(.allow)
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.response(200), .data(200_000), .completed(nil)])
    }
}
