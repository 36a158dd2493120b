import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Metrics come once a task, right before its end is told", .timeLimit(.minutes(5)))
struct MetricsDeliveryTests {
    private let sandbox: Sandbox
    private let server: LoopbackServer
    private let url: URL

    init() throws {
        sandbox = try Sandbox()
        server = try LoopbackServer()
        url = server.route("/file", .text("hello"))
    }

    @Test("To the session's delegate")
    func session() async throws {
        let observer = Observer()
        sandbox.session(observer).dataTask(with: url).resume()
        await observer.completion()
        #expect(
            observer.events
                == [.created, .response(200), .data(5), .metrics(transactions: 1), .completed(nil)])
    }

    @Test("To the task's own delegate, in place of the session's")
    func task() async throws {
        let (own, other) = (Observer(), Observer())
        let task = sandbox.session(other).dataTask(with: url)
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(own.events.suffix(2) == [.metrics(transactions: 1), .completed(nil)])
        #expect(other.metrics.isEmpty)
    }

    @Test("To a delegate of a task with a handler, before the handler is called")
    func handler() async throws {
        let observer = Observer()
        let session = sandbox.session(observer)
        let (url, answered) = (url, LoadBox<[Observer.Event]>([]))
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            session.dataTask(with: url) { _, _, _ in
                answered.withLock { $0 = observer.events }
                continuation.resume()
            }.resume()
        }
        #expect(answered.withLock { $0 } == [.created, .metrics(transactions: 1)])
    }

    @Test("To a delegate of an async method, before it returns")
    func async() async throws {
        let observer = Observer()
        let (data, _) = try await sandbox.session().data(from: url, delegate: observer)
        #expect(data == Data("hello".utf8))
        #expect(observer.events == [.created, .metrics(transactions: 1)])
    }

    @Test("Of a task that was cancelled before it began: no request")
    func cancelled() async throws {
        let observer = Observer()
        let task = sandbox.session(observer).dataTask(with: url)
        task.cancel()
        await observer.completion()
        #expect(observer.events == [.created, .metrics(transactions: 0), .completed(.cancelled)])
        #expect(server.requests.isEmpty)
    }

    @Test("A data task that becomes a download has one, as the download")
    func becomingDownload() async throws {
        let observer = Becoming()
        sandbox.session(observer).dataTask(with: url).resume()
        await observer.done.wait()
        #expect(observer.metrics.withLock { $0 } == 1)
    }

    private final class Becoming: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let metrics = LoadBox(0)
        let done = Signal()

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.becomeDownload)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {}

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            if task is URLSessionDownloadTask, metrics.transactionMetrics.count == 1 {
                self.metrics.withLock { $0 += 1 }
            }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            done.set()
        }
    }
}
