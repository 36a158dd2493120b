import Foundation
import Purl
import PurlTesting

/// Keeps what a download has delivered, and lets a test wait for it.
final class FilmDelegate: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate {
    struct State: Sendable {
        var written: Int64 = 0
        var completions = 0
        var resumeData: Data?
        var content: Data?
    }

    let state = Monitor(State())

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        state.update { $0.written = totalBytesWritten }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let content = try? Data(contentsOf: location)
        state.update { $0.content = content }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let resumeData = (error as? URLError)?.downloadTaskResumeData
        state.update { state in
            state.completions += 1
            state.resumeData = resumeData ?? state.resumeData
        }
    }
}

/// A folder that is removed with this object.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("purl-trace-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}

extension TransferTrace {
    /// Returns when an event of the trace satisfies a condition `count` times, or when the test is cancelled. The network
    /// thread and the delegate queue are not to be asked: that would be events, too.
    func waits(_ count: Int = 1, for condition: (Event) -> Bool) async {
        while events.count(where: condition) < count, !Task.isCancelled { await Task.yield() }
    }
}
