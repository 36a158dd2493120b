import Foundation
import Purl
import Synchronization

/// The delegate of the demo's download tasks, which run one at a time.
final class DemoDelegate: NSObject, URLSessionDownloadDelegate {
    private struct State {
        var attempt = DemoAttempt()
        var stopsAt: Int64?
        var isShown = false
        var completion: CheckedContinuation<DemoAttempt, Never>?
    }

    private let place: URL
    private let console: Console
    private let display: ProgressDisplay
    private let state = Mutex(State())

    /// - Parameters:
    ///   - place: Where the complete file is moved.
    ///   - console: Where the progress is shown.
    init(place: URL, console: Console) {
        self.place = place
        self.console = console
        display = ProgressDisplay(console)
    }

    /// Runs the task to its end.
    ///
    /// - Parameter stopsAt: The number of bytes at which the task is paused.
    func run(_ task: URLSessionDownloadTask, stopsAt: Int64? = nil) async -> DemoAttempt {
        let attempt = await withCheckedContinuation { continuation in
            state.withLock { $0 = State(stopsAt: stopsAt, completion: continuation) }
            task.resume()
        }
        await display.stop()
        return attempt
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        console.print(fileOffset > 0 ? "   Resuming at byte \(fileOffset)." : "   Starting over.")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        let (stops, shows) = state.withLock { state in
            let stops = state.stopsAt.map { totalBytesWritten >= $0 } ?? false
            if stops { state.stopsAt = nil }
            defer { state.isShown = true }
            return (stops, !state.isShown)
        }
        if shows { display.show(downloadTask, name: "") }
        guard stops else { return }
        // The handler is called before the completion, on the same queue.
        downloadTask.cancel(byProducingResumeData: { data in
            self.state.withLock { $0.attempt.resumeData = data }
        })
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        // The file is removed when this returns, unless it has been moved.
        guard (try? FileManager.default.moveItem(at: location, to: place)) != nil else { return }
        state.withLock { $0.attempt.file = place }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (completion, attempt) = state.withLock { state in
            state.attempt.status = (task.response as? HTTPURLResponse)?.statusCode
            state.attempt.error = error as? URLError
            state.attempt.resumeData = state.attempt.resumeData ?? state.attempt.error?.downloadTaskResumeData
            defer { state.completion = nil }
            return (state.completion, state.attempt)
        }
        completion?.resume(returning: attempt)
    }
}

/// The result of one of the demo's tasks.
struct DemoAttempt: Sendable {
    /// The response's status.
    var status: Int?
    /// The complete file.
    var file: URL?
    /// The task's error.
    var error: URLError?
    /// What the next task needs to resume.
    var resumeData: Data?
}
