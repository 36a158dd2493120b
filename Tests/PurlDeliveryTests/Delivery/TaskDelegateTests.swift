import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A task's own delegate", .timeLimit(.minutes(5)))
struct TaskDelegateTests {
    private let sandbox = Sandbox()

    /// A delegate that adopts neither the data nor the download protocol.
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

    @Test("A task's own delegate receives its calls instead of the session's")
    func dataTask() async throws {
        let server = try makeServer()
        let (sessions, own) = (Witness(), Witness())
        let session = sandbox.session(sessions)
        let watched = session.dataTask(with: server.url("/moved"))
        watched.delegate = own
        watched.resume()
        await own.completion()
        session.dataTask(with: server.url("/file")).resume()
        await sessions.completion()
        #expect(own.events == [.redirect(302, to: "/file"), .response(200), .data(50_000), .completed(nil)])
        #expect(sessions.events == [.response(200), .data(50_000), .completed(nil)])
    }

    @Test("A download's own delegate receives its calls instead of the session's")
    func download() async throws {
        let server = try makeServer()
        let (sessions, own) = (Witness(), Witness())
        let session = sandbox.session(sessions)
        let task = session.downloadTask(with: server.url("/file"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(own.events == [.wrote(50_000, of: 50_000), .file(50_000), .completed(nil)])
        #expect(sessions.events == [])
        #expect(sandbox.partialNames == [])
    }

    @Test("The session's delegate receives the calls of protocols the task's own does not adopt")
    func otherProtocols() async throws {
        let server = try makeServer()
        let (sessions, own) = (Witness(), TaskOnly())
        let session = sandbox.session(sessions)
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

    @Test("A task's own delegate works in a session without a delegate")
    func noSessionDelegate() async throws {
        let server = try makeServer()
        let own = Witness()
        let session = sandbox.session()
        let task = session.dataTask(with: server.url("/moved"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(own.events == [.redirect(302, to: "/file"), .response(200), .data(50_000), .completed(nil)])
    }

    @Test("A task's own delegate is called on the session's queue")
    func queue() async throws {
        let server = try makeServer()
        let log = CallLog()
        let own = Witness(hook: { _, _ in log.visit() })
        let session = sandbox.session(queue: CallQueue.concurrent.make())
        let task = session.dataTask(with: server.url("/file"))
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(log.allRan(on: session.delegateQueue))
        #expect(log.mostAtOnce == 1)
    }

    @Test("The delegate of a task with a handler decides on its redirects")
    func redirects() async throws {
        let server = try makeServer()
        let (sessions, own) = (Witness(), Witness(redirect: { _ in nil }))
        let session = sandbox.session(sessions)
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

    @Test("A data task's delegate becomes that of the download")
    func becomesDownload() async throws {
        let server = try makeServer()
        let (sessions, own) = (Witness(), Witness(disposition: .becomeDownload))
        let session = sandbox.session(sessions)
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

    /// How the task ends before its delegate is released.
    enum End: CaseIterable, Sendable { case success, failure, cancellation, unstartedCancellation }

    @Test("A task's own delegate is released when the task has completed", arguments: End.allCases)
    func released(_ end: End) async throws {
        let server = try makeServer()
        server.route("/stalled", .generated(size: 50_000).stalled(afterBytes: 1_000))
        server.route("/cut", .generated(size: 50_000).cut(afterBytes: 1_000))
        let sessions = Witness()
        let session = sandbox.session(sessions)
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
        // The last call has returned when the queue runs another operation.
        await withCheckedContinuation { continuation in
            session.getAllTasks { _ in continuation.resume() }
        }
        #expect(task.delegate == nil)
        #expect(weakDelegate == nil)
        #expect(sessions.events == [])
    }
}
