import Foundation
import Purl
import PurlTesting
import Testing

/// A task's own delegate is asked before the session's, and kept until the task is over.
@Suite(.timeLimit(.minutes(5))) struct TaskDelegateTests {
    /// Knows of tasks, not of data or downloads.
    private final class TaskOnly: NSObject, URLSessionTaskDelegate, Sendable {
        let witness = Witness()

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            witness.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: completionHandler)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            witness.urlSession(session, task: task, didCompleteWithError: error)
        }
    }

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 50_000, seed: 4))
        server.route("/moved", .redirect(302, to: "/file"))
        return server
    }

    @Test func hearsOfItsTaskInsteadOfTheSessions() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let (sessions, own) = (Witness(), Witness())
        let session = sandbox.session(sessions)
        defer { session.invalidateAndCancel() }
        let watched = session.dataTask(with: server.url("/moved"))
        watched.delegate = own
        watched.resume()
        await own.completion()
        session.dataTask(with: server.url("/file")).resume()
        await sessions.completion()
        #expect(own.events == [.redirect(302, to: "/file"), .response(200), .data(50_000), .completed(nil)])
        #expect(sessions.events == [.response(200), .data(50_000), .completed(nil)])
    }

    @Test func hearsOfItsDownloadInsteadOfTheSessions() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let (sessions, own) = (Witness(), Witness())
        let session = sandbox.session(sessions)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: server.url("/file"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(own.events == [.wrote(50_000, of: 50_000), .file(50_000), .completed(nil)])
        #expect(sessions.events == [])
        #expect(sandbox.partialNames == [])
    }

    @Test func theSessionsHearsWhatTheTasksOwnHasNoProtocolFor() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let (sessions, own) = (Witness(), TaskOnly())
        let session = sandbox.session(sessions)
        defer { session.invalidateAndCancel() }
        let data = session.dataTask(with: server.url("/moved"))
        data.delegate = own
        data.resume()
        await own.witness.completion()
        #expect(sessions.events == [.response(200), .data(50_000)])
        let download = session.downloadTask(with: server.url("/file"))
        download.delegate = own
        download.resume()
        await own.witness.completion(of: 2)
        #expect(own.witness.events == [.redirect(302, to: "/file"), .completed(nil), .completed(nil)])
        #expect(
            sessions.events == [.response(200), .data(50_000), .wrote(50_000, of: 50_000), .file(50_000)])
    }

    @Test func worksInASessionWithoutDelegate() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let own = Witness()
        let session = sandbox.session()
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/moved"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(own.events == [.redirect(302, to: "/file"), .response(200), .data(50_000), .completed(nil)])
    }

    @Test func isCalledOnTheSessionsQueue() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let log = CallLog()
        let own = Witness(hook: { _, _ in log.visit() })
        let session = sandbox.session(queue: CallQueue.concurrent.make())
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/file"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(log.allRan(on: session.delegateQueue))
        #expect(log.mostAtOnce == 1)
    }

    @Test func decidesOnRedirectsOfTasksWithHandlers() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let (sessions, own) = (Witness(), Witness(redirect: { _ in nil }))
        let session = sandbox.session(sessions)
        defer { session.invalidateAndCancel() }
        let status = await withCheckedContinuation { continuation in
            let task = session.dataTask(with: server.url("/moved")) { _, response, _ in
                continuation.resume(returning: (response as? HTTPURLResponse)?.statusCode)
            }
            task.delegate = own
            task.resume()
        }
        #expect(status == 302)
        #expect(own.events == [.redirect(302, to: "/file")])
        #expect(sessions.events == [])
    }

    @Test func followsADataTaskThatBecomesADownload() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let (sessions, own) = (Witness(), Witness(disposition: .becomeDownload))
        let session = sandbox.session(sessions)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/file"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(
            own.events == [
                .response(200), .becameDownload, .wrote(50_000, of: 50_000), .file(50_000), .completed(nil),
            ])
        #expect(sessions.events == [])
    }

    /// What becomes of a task before its delegate is let go.
    enum End: CaseIterable, Sendable { case success, failure, cancellation, unstartedCancellation }

    @Test(arguments: End.allCases)
    func isReleasedWhenTheTaskIsOver(_ end: End) async throws {
        let server = try makeServer()
        server.route("/stalled", .generated(size: 50_000).stalled(afterBytes: 1_000))
        server.route("/cut", .generated(size: 50_000).cut(afterBytes: 1_000))
        let sandbox = try Sandbox()
        let sessions = Witness()
        let session = sandbox.session(sessions)
        defer { session.invalidateAndCancel() }
        let path = [.success: "/file", .failure: "/cut", .cancellation: "/stalled"][end] ?? "/file"
        let task = session.dataTask(with: server.url(path))
        weak var weakDelegate: Witness?
        do {
            let own = Witness()
            weakDelegate = own
            task.delegate = own
            switch end {
            case .success, .failure: task.resume()
            case .cancellation:
                task.resume()
                await own.wait { $0.contains(.data(1_000)) }
                task.cancel()
            case .unstartedCancellation: task.cancel()
            }
            await own.completion()
        }
        // A turn of the queue later the last call has returned.
        await withCheckedContinuation { continuation in
            session.getAllTasks { _ in continuation.resume() }
        }
        #expect(task.delegate == nil)
        #expect(weakDelegate == nil)
        #expect(sessions.events == [])
    }
}
