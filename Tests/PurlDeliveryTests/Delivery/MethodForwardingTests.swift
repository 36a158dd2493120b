import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

/// Apple: "methods not implemented on this delegate will still be forwarded to the session delegate".
@Suite("Methods that a task's own delegate does not have", .timeLimit(.minutes(1)))
struct MethodForwardingTests {
    private let sandbox = Sandbox()

    /// A delegate of one method.
    private final class Logger: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let log = EventLog<String>()

        func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
        {
            log.append("metrics")
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            log.append("file")
        }
    }

    private func server() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 50_000, seed: 4).entityTag("\"v1\""))
        server.route("/moved", .redirect(302, to: "/private"))
        server.route("/private", ProtectedResource.reply())
        return server
    }

    @Test("The session's delegate is asked about a redirect and a challenge of data(for:delegate:)")
    func asyncData() async throws {
        let server = try server()
        let sessions = ProtectedResource.witness()
        let own = Logger()
        let (data, _) = try await sandbox.session(sessions).data(from: server.url("/moved"), delegate: own)
        #expect(data == ProtectedResource.inside)
        #expect(
            sessions.events == [
                .redirect(302, to: "/private"), .challenge("Basic", "vault", failures: 0), .response(200), .data(6),
            ])
        #expect(own.log.events == ["metrics"])
    }

    @Test("The session's delegate receives all that a data task's own delegate does not take")
    func dataTask() async throws {
        let server = try server()
        let sessions = ProtectedResource.witness()
        let session = sandbox.session(sessions)
        let task = session.dataTask(with: server.url("/moved"))
        let own = Logger()
        task.delegate = own
        task.resume()
        await sessions.completion()
        #expect(
            sessions.events == [
                .redirect(302, to: "/private"), .challenge("Basic", "vault", failures: 0), .response(200), .data(6),
                .completed(nil),
            ])
        #expect(own.log.events == ["metrics"])
    }

    @Test("The session's delegate receives a download's progress, and the task's own its file")
    func download() async throws {
        let server = try server()
        let sessions = Witness()
        let session = sandbox.session(sessions)
        let task = session.downloadTask(with: server.url("/file"))
        let own = Logger()
        task.delegate = own
        task.resume()
        await sessions.completion()
        #expect(sessions.events == [.wrote(50_000, of: 50_000), .completed(nil)])
        #expect(own.log.events == ["file", "metrics"])
    }

    /// A delegate that passes calls on to another one, as those do that log or count.
    private final class Wrapper: NSObject, URLSessionTaskDelegate, Sendable {
        let inner = Logger()
        let redirects = Mutex(0)

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            redirects.withLock { $0 += 1 }
            inner.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: completionHandler)
        }
    }

    @Test("A delegate that another delegate calls answers as if it were the only one")
    func wrapped() async throws {
        let server = try server()
        server.route("/moved", .redirect(302, to: "/file"))
        let wrapper = Wrapper()
        let (data, _) = try await sandbox.session(wrapper).data(from: server.url("/moved"))
        #expect(data.count == 50_000)
        #expect(wrapper.redirects.withLock { $0 } == 1)
    }

    @Test("The delegate of data(for:delegate:) receives the response and the data besides the returned value")
    func dataBesides() async throws {
        let server = try server()
        let (sessions, own) = (Witness(), Witness())
        let (data, _) = try await sandbox.session(sessions).data(from: server.url("/file"), delegate: own)
        #expect(data.count == 50_000)
        #expect(own.events == [.response(200), .data(50_000)])
        #expect(sessions.events == [])
    }

    @Test("The delegate of data(for:delegate:) can refuse the response")
    func refusal() async throws {
        let server = try server()
        let session = sandbox.session()
        let own = Witness(disposition: .cancel)
        let error = await #expect(throws: URLError.self) {
            try await session.data(from: server.url("/file"), delegate: own)
        }
        #expect(error?.code == .cancelled)
    }

    @Test("The delegate of upload(for:from:delegate:) receives how much was sent")
    func sentBesides() async throws {
        let server = try server()
        let session = sandbox.session()
        let own = Witness()
        var request = URLRequest(url: server.url("/file"))
        request.httpMethod = "PUT"
        _ = try await session.upload(for: request, from: Data(count: 1_000), delegate: own)
        #expect(own.events == [.sent(1_000, of: 1_000), .response(200), .data(50_000)])
    }

    @Test("The delegate of download(from:delegate:) receives progress; the file is returned alone")
    func fileBesides() async throws {
        let server = try server()
        let (sessions, own) = (Witness(), Witness())
        let (file, _) = try await sandbox.session(sessions).download(from: server.url("/file"), delegate: own)
        #expect(own.events == [.wrote(50_000, of: 50_000)])
        #expect(sessions.events == [])
        #expect(try Data(contentsOf: file).count == 50_000)
        try FileManager.default.removeItem(at: file)
    }

    @Test("didCreateTask is called before the method that creates the task returns")
    func creation() async throws {
        final class Configurator: NSObject, URLSessionTaskDelegate, Sendable {
            func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
                task.taskDescription = "configured"
                if task.originalRequest?.url?.path() == "/unwanted" { task.cancel() }
            }
        }
        let server = try server()
        let configurator = Configurator()
        let session = sandbox.session(configurator)
        #expect(session.dataTask(with: server.url("/file")).taskDescription == "configured")
        #expect(session.downloadTask(with: server.url("/file")).taskDescription == "configured")
        let error = await #expect(throws: URLError.self) {
            try await session.data(from: server.url("/unwanted"), delegate: configurator)
        }
        #expect(error?.code == .cancelled)
        #expect(server.requests.count == 0)
    }
}
