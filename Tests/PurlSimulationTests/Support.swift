import Foundation
import Purl
import PurlSimulation
import Synchronization

/// Records a session's calls by name.
final class RecordingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    private let state = Mutex((calls: [String](), bytes: Data(), error: (any Error)?.none, file: Data?.none))
    private let finished: AsyncStream<Void>
    private let finish: AsyncStream<Void>.Continuation

    override init() {
        (finished, finish) = AsyncStream.makeStream()
        super.init()
    }

    var calls: [String] { state.withLock { $0.calls } }
    var bytes: Data { state.withLock { $0.bytes } }
    var error: (any Error)? { state.withLock { $0.error } }
    var file: Data? { state.withLock { $0.file } }

    /// Returns when a task has completed.
    func completion() async {
        for await _ in finished { return }
    }

    private func add(_ call: String) {
        state.withLock { if $0.calls.last != call { $0.calls.append(call) } }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        add("response")
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        add("data")
        state.withLock { $0.bytes.append(data) }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        add("progress")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        add("file")
        state.withLock { $0.file = try? Data(contentsOf: location) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        add("completion")
        state.withLock { $0.error = error }
        finish.yield()
    }
}
