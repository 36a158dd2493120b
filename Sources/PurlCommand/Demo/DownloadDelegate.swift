import Foundation
import Purl
import Synchronization

/// Follows the demo's download tasks, one at a time.
final class DownloadDelegate: NSObject, URLSessionDownloadDelegate {
    private struct State {
        var attempt = Attempt()
        var stopsAt: Int64?
        var isShown = false
        var completion: CheckedContinuation<Attempt, Never>?
    }

    private let place: URL
    private let console: Console
    private let display: ProgressDisplay
    private let state = Mutex(State())

    /// - Parameters:
    ///   - place: Where the whole file goes.
    ///   - console: Where the progress is shown.
    init(place: URL, console: Console) {
        self.place = place
        self.console = console
        display = ProgressDisplay(console)
    }

    /// Starts the task and returns when it is over.
    ///
    /// - Parameter stopsAt: At so many bytes the task is stopped, as a user would press a pause button.
    func run(_ task: URLSessionDownloadTask, stopsAt: Int64? = nil) async -> Attempt {
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
        console.say(fileOffset > 0 ? "   Going on at byte \(fileOffset)." : "   Starting over.")
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
