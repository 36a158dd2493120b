import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

/// A question to the delegate is answered once, from any thread and at any time; the body waits for the answer.
@Suite(.timeLimit(.minutes(5))) struct DispositionTests {
    typealias Answer = @Sendable (URLSession.ResponseDisposition) -> Void
    typealias RedirectAnswer = @Sendable (URLRequest?) -> Void

    /// Keeps what it is asked, for the test to answer.
    private final class Asked: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        private struct State {
            var answers: [Answer] = []
            var redirects: [(URLRequest, RedirectAnswer)] = []
        }

        let witness = Witness()
        private let state = Mutex(State())

        /// The answer to the response that came last.
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

    @Test(arguments: ["/file", "/empty"])
    func theBodyWaitsForALateAnswer(_ path: String) async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url(path))
        task.resume()
        let answer = try #require(await asked.response())
        await server.waitUntilIdle()
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(asked.witness.events.count == 1)
        #expect(task.countOfBytesReceived == 0)
        #expect(task.response != nil)
        #expect(task.state == .running)
        answer(.allow)
        await asked.witness.completion()
        #expect(asked.witness.events.last == .completed(nil))
        #expect(asked.witness.data(of: task) == (path == "/file" ? content.data : Data()))
    }

    @Test func anAnswerMayComeFromAnotherThread() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/file"))
        task.resume()
        let answer = try #require(await asked.response())
        Thread.detachNewThread { answer(.allow) }
        await asked.witness.completion()
        #expect(asked.witness.data(of: task) == content.data)
    }

    @Test(arguments: [
        [URLSession.ResponseDisposition.allow, .cancel, .becomeDownload],
        [.cancel, .allow, .becomeDownload],
        [.becomeDownload, .cancel, .allow],
    ])
    func theFirstAnswerCounts(_ answers: [URLSession.ResponseDisposition]) async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/file"))
        task.resume()
        let answer = try #require(await asked.response())
        for disposition in answers { answer(disposition) }
        await asked.witness.completion()
        answer(.cancel)
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        let expected: [Witness.Event] =
            switch answers[0] {
            case .allow: [.response(200), .data(200_000), .completed(nil)]
            case .cancel: [.response(200), .completed(.cancelled)]
            case .becomeDownload: [.response(200), .becameDownload, .file(200_000), .completed(nil)]
            case .becomeStream: []
            }
        #expect(asked.witness.events == expected)
        #expect(sandbox.partialNames == [])
    }

    @Test func answersFromManyThreadsAtOnceCountOnce() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: server.url("/file")).resume()
        let answer = try #require(await asked.response())
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { answer(.becomeDownload) } }
        }
        await asked.witness.completion()
        #expect(asked.witness.events == [.response(200), .becameDownload, .file(200_000), .completed(nil)])
    }

    @Test func cancelClosesTheConnection() async throws {
        let server = try makeServer()
        server.route("/stalled", .generated(content).stalled(afterBytes: 10))
        let sandbox = try Sandbox()
        let witness = Witness(disposition: .cancel)
        let session = sandbox.session(witness)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/stalled"))
        task.resume()
        await witness.completion()
        await server.waitUntilDisconnected()
        #expect(witness.events == [.response(200), .completed(.cancelled)])
        #expect(witness.error(of: task)?.failingURL == server.url("/stalled"))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test(arguments: [URLSession.ResponseDisposition.allow, .cancel, .becomeDownload])
    func anAnswerAfterTheTaskWasCancelledDoesNothing(_ disposition: URLSession.ResponseDisposition) async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/file"))
        task.resume()
        let answer = try #require(await asked.response())
        task.cancel()
        await asked.witness.completion()
        answer(disposition)
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(asked.witness.events == [.response(200), .completed(.cancelled)])
        #expect(sandbox.partialNames == [])
    }

    @Test func aQuestionNeverAnsweredDoesNotKeepATaskFromBeingCancelled() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        session.dataTask(with: server.url("/file")).resume()
        session.dataTask(with: server.url("/moved")).resume()
        _ = await asked.response()
        _ = await asked.redirect()
        session.invalidateAndCancel()
        await asked.witness.completion(of: 2)
        await server.waitUntilDisconnected()
        #expect(asked.witness.events.suffix(2) == [.completed(.cancelled), .completed(.cancelled)])
    }

    @Test func aSuspendedTaskStaysSoWhenItsAnswerComes() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/file"))
        task.resume()
        let answer = try #require(await asked.response())
        task.suspend()
        answer(.allow)
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(asked.witness.events == [.response(200)])
        task.resume()
        await asked.witness.completion()
        #expect(asked.witness.events == [.response(200), .data(200_000), .completed(nil)])
    }

    @Test func aRedirectWaitsForALateAnswerFromAnywhere() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: server.url("/moved"))
        task.resume()
        let (request, answer) = try #require(await asked.redirect())
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(server.requests.map(\.path) == ["/moved", "/elsewhere"])
        #expect(task.currentRequest?.url == server.url("/moved"))
        Thread.detachNewThread { answer(request) }
        await asked.witness.completion()
        #expect(task.currentRequest?.url == server.url("/file"))
        #expect(asked.witness.events == [.redirect(302, to: "/file"), .file(200_000), .completed(nil)])
    }

    @Test func theFirstAnswerToARedirectCounts() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: server.url("/moved"))
        task.resume()
        let (request, answer) = try #require(await asked.redirect())
        answer(URLRequest(url: server.url("/elsewhere")))
        answer(request)
        answer(nil)
        await asked.witness.completion()
        answer(request)
        _ = try await session.data(from: server.url("/elsewhere"))
        #expect(server.requests.map(\.path) == ["/moved", "/elsewhere", "/elsewhere"])
        #expect(asked.witness.file(of: task) == Data("elsewhere".utf8))
        #expect(asked.witness.events == [.redirect(302, to: "/file"), .file(9), .completed(nil)])
    }

    /// Another task's time-out is the clock: it is longer than that of the task whose delegate thinks.
    @Test func theTimeOutStandsStillWhileTheDelegateThinks() async throws {
        let server = try makeServer()
        server.route("/clock", .status(200).delayed(until: Gate()))
        let sandbox = try Sandbox()
        let asked = Asked()
        let session = sandbox.session(asked)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url("/file"))
        request.timeoutInterval = 2
        session.dataTask(with: request).resume()
        let answer = try #require(await asked.response())
        var clock = URLRequest(url: server.url("/clock"))
        clock.timeoutInterval = 3
        await #expect(throws: URLError.self) { try await session.data(for: clock) }
        answer(.allow)
        await asked.witness.completion()
        #expect(asked.witness.events == [.response(200), .data(200_000), .completed(nil)])
    }
}
