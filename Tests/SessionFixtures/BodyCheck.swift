import Foundation
import Purl
import PurlTesting
import Synchronization

/// A data delegate that compares the body with what it should be, keeps none of it, and can be made to wait.
final class BodyCheck: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    private struct State {
        var received = 0
        var isRight = true
        var longestCall = 0
        var error: URLError?
        var fileIsRight: Bool?
    }

    private let content: GeneratedContent
    private let beforeData: @Sendable (Int) -> Void
    private let state = Mutex(State())
    private let end = Signal()

    /// - Parameter beforeData: Runs inside each `didReceive data` with the number of bytes received before.
    init(_ content: GeneratedContent, beforeData: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.content = content
        self.beforeData = beforeData
    }

    var received: Int { state.withLock { $0.received } }
    /// Whether every byte so far was the expected one.
    var isRight: Bool { state.withLock { $0.isRight } }
    var isOver: Bool { end.isSet }
    var longestCall: Int { state.withLock { $0.longestCall } }
    var error: URLError? { state.withLock { $0.error } }
    var fileIsRight: Bool? { state.withLock { $0.fileIsRight } }

    /// Returns when the task has completed.
    func completion() async { await end.wait() }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let offset = received
        beforeData(offset)
        let matches = content.matches(data, at: offset)
        state.withLock { state in
            state.received += data.count
            state.longestCall = max(state.longestCall, data.count)
            state.isRight = state.isRight && matches
        }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let matches = (try? content.matches(fileAt: location)) ?? false
        state.withLock { $0.fileIsRight = matches }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        beforeData(received)
        state.withLock { $0.received = Int(totalBytesWritten) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLock { $0.error = error as? URLError }
        end.set()
    }
}
