import Foundation
import Purl
import PurlTesting
import Testing

/// A delegate of every kind that has no method but for the last call: each question has the answer of nobody having been
/// asked.
@Suite(.timeLimit(.minutes(5))) struct SilentDelegateTests {
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
    private let sandbox: Sandbox
    private let delegate = Silent()
    private let session: URLSession

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .generated(size: 10_000).entityTag("\"v1\"").field("Cache-Control", "max-age=60"))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/early", .text("late").interim(103))
        server.route("/private", Door.reply())
        server.route("/upload", method: "POST", .text("taken"))
        server.route("/ws", .webSocket(.listening.text("hello").close(1000)))
        sandbox = try Sandbox()
        session = sandbox.session(delegate)
    }

    private func status(of task: URLSessionTask) async -> Int? {
        task.resume()
        await delegate.witness.completion()
        session.invalidateAndCancel()
        return (task.response as? HTTPURLResponse)?.statusCode
    }

    @Test(arguments: [("/file", 200), ("/moved", 200), ("/early", 200), ("/private", 401)])
    func whatComesIsTheResult(path: String, status: Int) async throws {
        #expect(await self.status(of: session.dataTask(with: server.url(path))) == status)
        #expect(delegate.witness.events == [.completed(nil)])
    }

    @Test func whatMayBeStoredIs() async throws {
        let request = URLRequest(url: server.url("/file"))
        #expect(await status(of: session.dataTask(with: request)) == 200)
        #expect(session.configuration.urlCache?.cachedResponse(for: request)?.data.count == 10_000)
    }

    @Test func aDelayedTaskBeginsWithItsRequest() async throws {
        let task = session.dataTask(with: server.url("/file"))
        task.earliestBeginDate = Date()
        #expect(await status(of: task) == 200)
    }

    @Test func aDownloadThatGoesOnDoes() async throws {
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

    @Test func anUploadThatNeedsAStreamHasNone() async throws {
        var request = URLRequest(url: server.url("/upload"))
        request.httpMethod = "POST"
        #expect(await status(of: session.uploadTask(withStreamedRequest: request)) == nil)
        #expect(delegate.witness.events == [.completed(.requestBodyStreamExhausted)])
    }

    @Test func aWebSocketOpensAndCloses() async throws {
        let task = session.webSocketTask(with: try server.webSocketURL("/ws"))
        task.resume()
        guard case .string("hello") = try await task.receive() else {
            Issue.record("the message was another one")
            return
        }
        await delegate.witness.completion()
        #expect(delegate.witness.events == [.completed(nil)])
        #expect(task.closeCode == .normalClosure)
        session.invalidateAndCancel()
    }
}
