import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Delegates that implement only some methods", .timeLimit(.minutes(5)))
struct PartialDelegateTests {
    private let sandbox = Sandbox()

    private final class CompletionOnly: NSObject, URLSessionTaskDelegate, Sendable {
        let witness = Witness()

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            witness.urlSession(session, task: task, didCompleteWithError: error)
        }
    }

    private final class DataOnly: NSObject, URLSessionDataDelegate, Sendable {
        let witness = Witness()

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            witness.urlSession(session, dataTask: dataTask, didReceive: data)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            witness.urlSession(session, task: task, didCompleteWithError: error)
        }
    }

    private final class FileOnly: NSObject, URLSessionDownloadDelegate, Sendable {
        let witness = Witness()

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            witness.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            witness.urlSession(session, task: task, didCompleteWithError: error)
        }
    }

    private final class InvalidationOnly: NSObject, URLSessionDelegate, Sendable {
        let witness = Witness()

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
            witness.urlSession(session, didBecomeInvalidWithError: error)
        }
    }

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 3_000_000, seed: 4))
        server.route("/moved", .redirect(302, to: "/file"))
        return server
    }

    @Test("Without didReceive data the body is loaded and discarded")
    func noDataMethod() async throws {
        let server = try makeServer()
        let delegate = CompletionOnly()
        let task = sandbox.session(delegate).dataTask(with: server.url("/moved")).resumed()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.completed(nil)])
        #expect(task.countOfBytesReceived == 3_000_000)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(server.requests.map(\.ending) == [.complete, .complete])
    }

    @Test("Without didReceive response every response is allowed")
    func noResponseMethod() async throws {
        let server = try makeServer()
        let delegate = DataOnly()
        sandbox.session(delegate).dataTask(with: server.url("/moved")).resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.data(3_000_000), .completed(nil)])
    }

    @Test("Without didWriteData a download delivers its file")
    func noProgressMethod() async throws {
        let server = try makeServer()
        let delegate = FileOnly()
        sandbox.session(delegate).downloadTask(with: server.url("/moved")).resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.file(3_000_000), .completed(nil)])
        #expect(sandbox.partialNames == [])
    }

    @Test("Without didFinishDownloadingTo the downloaded file is removed")
    func noFileMethod() async throws {
        let server = try makeServer()
        let delegate = CompletionOnly()
        sandbox.session(delegate).downloadTask(with: server.url("/file")).resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.completed(nil)])
        #expect(sandbox.partialNames == [])
    }

    @Test("A URLSessionDelegate receives only the invalidation")
    func sessionDelegate() async throws {
        let server = try makeServer()
        let delegate = InvalidationOnly()
        let session = sandbox.session(delegate)
        let (data, _) = try await session.data(from: server.url("/moved"))
        #expect(data.count == 3_000_000)
        session.dataTask(with: server.url("/moved")).resume()
        session.finishTasksAndInvalidate()
        await delegate.witness.wait { $0.contains(.invalid) }
        #expect(server.requests.map(\.ending) == Array(repeating: .complete, count: 4))
    }

    @Test(
        "Without a delegate a task runs to its end and has its response and error",
        arguments: ["/file", "/moved", "/nothing", "/cut"])
    func noDelegate(_ path: String) async throws {
        let server = try makeServer()
        server.route("/cut", .generated(size: 1_000).cut(afterBytes: 10))
        let session = sandbox.session()
        let data = session.dataTask(with: server.url(path))
        let download = session.downloadTask(with: server.url(path))
        for task in [data, download] { task.resume() }
        session.finishTasksAndInvalidate()
        // The task has completed once the session lists no tasks.
        await SessionTasks.waitUntilCompleted(of: session)
        for task in [data, download] {
            #expect(task.state == .completed)
            #expect((task.error as? URLError)?.code == (path == "/cut" ? .networkConnectionLost : nil))
            #expect((task.response as? HTTPURLResponse)?.statusCode == (path == "/nothing" ? 404 : 200))
        }
        #expect(sandbox.partialNames == [])
    }
}

@Suite("A delegate of every kind that implements only the completion", .timeLimit(.minutes(5)))
struct CompletionOnlyDelegateTests {
    private final class Silent: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate,
        URLSessionWebSocketDelegate, Sendable
    {
        let witness = Witness()

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            witness.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            witness.urlSession(session, task: task, didCompleteWithError: error)
        }
    }

    private let server: LoopbackServer
    private let sandbox = Sandbox()
    private let delegate = Silent()
    private let session: URLSession

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .generated(size: 10_000).entityTag("\"v1\"").field("Cache-Control", "max-age=60"))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/early", .text("late").interim(103))
        server.route("/private", ProtectedResource.reply())
        server.route("/upload", method: "POST", .text("taken"))
        server.route("/ws", .webSocket(.listening.text("hello").close(1000)))
        session = sandbox.session(delegate)
    }

    private func status(of task: URLSessionTask) async -> Int? {
        task.resume()
        await delegate.witness.completion()
        session.invalidateAndCancel()
        return (task.response as? HTTPURLResponse)?.statusCode
    }

    @Test(
        "Redirects are followed, responses allowed, and a 401 is the result",
        arguments: [("/file", 200), ("/moved", 200), ("/early", 200), ("/private", 401)])
    func result(path: String, status: Int) async throws {
        #expect(await self.status(of: session.dataTask(with: server.url(path))) == status)
        #expect(delegate.witness.events == [.completed(nil)])
    }

    @Test("A response that may be stored is stored")
    func cache() async throws {
        let request = URLRequest(url: server.url("/file"))
        #expect(await status(of: session.dataTask(with: request)) == 200)
        #expect(session.configuration.urlCache?.cachedResponse(for: request)?.data.count == 10_000)
    }

    @Test("A task with an earliestBeginDate sends its own request")
    func delayed() async throws {
        let task = session.dataTask(with: server.url("/file"))
        task.earliestBeginDate = Date()
        #expect(await status(of: task) == 200)
    }

    @Test("A resumed download completes")
    func resumed() async throws {
        let whole = GeneratedContent(size: 10_000)
        server.route("/cut", .generated(whole).entityTag("\"v1\"").cut(afterBytes: 4_000, times: 1))
        let resumeData: Data?
        do {
            _ = try await session.download(from: server.url("/cut"))
            resumeData = nil
        } catch {
            resumeData = (error as? URLError)?.downloadTaskResumeData
        }
        let task = session.downloadTask(withResumeData: try #require(resumeData))
        #expect(await status(of: task) == 206)
        #expect(delegate.witness.events == [.file(10_000), .completed(nil)])
    }

    @Test("A streamed upload fails for want of a stream")
    func stream() async throws {
        var request = URLRequest(url: server.url("/upload"))
        request.httpMethod = "POST"
        #expect(await status(of: session.uploadTask(withStreamedRequest: request)) == nil)
        #expect(delegate.witness.events == [.completed(.requestBodyStreamExhausted)])
    }

    @Test("A WebSocket opens and closes")
    func webSocket() async throws {
        let task = session.webSocketTask(with: try server.webSocketURL("/ws")).resumed()
        guard case .string("hello") = try await task.receive() else {
            Issue.record("the message was another one")
            return
        }
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.completed(nil)])
        #expect(task.closeCode == .normalClosure)
    }
}
