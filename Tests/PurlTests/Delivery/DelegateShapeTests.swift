import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

/// A delegate implements what it wants to hear; what it leaves out has a sensible answer.
@Suite(.timeLimit(.minutes(5))) struct DelegateShapeTests {
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

    @Test func withoutDataMethodsTheBodyIsLoadedAndDropped() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let delegate = CompletionOnly()
        let session = sandbox.session(delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/moved"))
        task.resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.completed(nil)])
        #expect(task.countOfBytesReceived == 3_000_000)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(server.requests.map(\.ending) == [.complete, .complete])
    }

    @Test func withoutTheResponseMethodResponsesAreAllowed() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let delegate = DataOnly()
        let session = sandbox.session(delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: server.url("/moved")).resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.data(3_000_000), .completed(nil)])
    }

    @Test func withoutProgressMethodsDownloadsDeliverTheirFile() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let delegate = FileOnly()
        let session = sandbox.session(delegate)
        defer { session.invalidateAndCancel() }
        session.downloadTask(with: server.url("/moved")).resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.file(3_000_000), .completed(nil)])
        #expect(sandbox.partialNames == [])
    }

    @Test func aDownloadNobodyTakesIsRemoved() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let delegate = CompletionOnly()
        let session = sandbox.session(delegate)
        defer { session.invalidateAndCancel() }
        session.downloadTask(with: server.url("/file")).resume()
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.completed(nil)])
        #expect(sandbox.partialNames == [])
    }

    @Test func aSessionDelegateAloneHearsOfTheEndOnly() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let delegate = InvalidationOnly()
        let session = sandbox.session(delegate)
        let (data, _) = try await session.data(from: server.url("/moved"))
        #expect(data.count == 3_000_000)
        session.dataTask(with: server.url("/moved")).resume()
        session.finishTasksAndInvalidate()
        await delegate.witness.wait { $0.contains(.invalid) }
        #expect(server.requests.map(\.ending) == Array(repeating: .complete, count: 4))
    }

    /// Without anybody to tell, a task still runs to its end and shows how it went.
    @Test(arguments: ["/file", "/moved", "/nothing", "/cut"])
    func withoutDelegateTasksRunAndShowTheirResult(_ path: String) async throws {
        let server = try makeServer()
        server.route("/cut", .generated(size: 1_000).cut(afterBytes: 10))
        let sandbox = try Sandbox()
        let session = sandbox.session()
        let data = session.dataTask(with: server.url(path))
        let download = session.downloadTask(with: server.url(path))
        for task in [data, download] { task.resume() }
        session.finishTasksAndInvalidate()
        // Every task is over once the session has nothing to keep.
        await SessionTasks.areOver(of: session)
        for task in [data, download] {
            #expect(task.state == .completed)
            #expect((task.error as? URLError)?.code == (path == "/cut" ? .networkConnectionLost : nil))
            #expect((task.response as? HTTPURLResponse)?.statusCode == (path == "/nothing" ? 404 : 200))
        }
        #expect(sandbox.partialNames == [])
    }
}
