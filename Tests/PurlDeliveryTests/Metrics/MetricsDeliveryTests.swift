import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("didFinishCollecting is called once a task, right before the completion", .timeLimit(.minutes(5)))
struct MetricsDeliveryTests {
    private let observer = TaskWitness()
    private let sandbox = Sandbox()
    private let server: LoopbackServer
    private let url: URL

    init() throws {
        server = try LoopbackServer()
        url = server.route("/file", .text("hello"))
    }

    @Test("didFinishCollecting is called on the session's delegate")
    func session() async throws {
        sandbox.session(observer).dataTask(with: url).resume()
        await observer.completion()
        #expect(
            observer.events
                == [.created, .response(200), .data(5), .metrics(transactions: 1), .completed(nil)])
    }

    @Test("didFinishCollecting is called on the task's own delegate instead of the session's")
    func task() async throws {
        let (own, other) = (TaskWitness(), TaskWitness())
        let task = sandbox.session(other).dataTask(with: url)
        task.delegate = own
        task.resume()
        await own.completion()
        #expect(own.events.suffix(2) == [.metrics(transactions: 1), .completed(nil)])
        #expect(other.metrics.isEmpty)
    }

    @Test("didFinishCollecting is called before a completion handler")
    func handler() async throws {
        let session = sandbox.session(observer)
        let (url, answered) = (url, LockedValue<[TaskWitness.Event]>([]))
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            session.dataTask(with: url) { _, _, _ in
                answered.withLock { $0 = observer.events }
                continuation.resume()
            }.resume()
        }
        #expect(answered.withLock { $0 } == [.created, .metrics(transactions: 1)])
    }

    @Test("didFinishCollecting is called before an async method returns")
    func async() async throws {
        let (data, _) = try await sandbox.session().data(from: url, delegate: observer)
        #expect(data == Data("hello".utf8))
        #expect(observer.events == [.created, .response(200), .data(5), .metrics(transactions: 1)])
    }

    @Test("A task that is cancelled before it is resumed has metrics without a transaction")
    func cancelled() async throws {
        let task = sandbox.session(observer).dataTask(with: url)
        task.cancel()
        await observer.completion()
        #expect(observer.events == [.created, .metrics(transactions: 0), .completed(.cancelled)])
        #expect(server.requests.isEmpty)
    }

    @Test("A data task that becomes a download has metrics once, for the download")
    func becomingDownload() async throws {
        let observer = BecomesDownload()
        sandbox.session(observer).dataTask(with: url).resume()
        await observer.done.wait()
        #expect(observer.metrics.withLock { $0 } == 1)
    }

    private final class BecomesDownload: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let metrics = LockedValue(0)
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
