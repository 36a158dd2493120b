import Foundation
import Purl
import Synchronization

/// A download that survives the process: one background session with at most one task.
///
/// The session calls its delegate on its own queue, one call at a time. `begin` is called on another thread and waits for a
/// call on that queue, so the state is behind a `Mutex` and nothing here needs the main thread.
final class BackgroundDownloads: NSObject, URLSessionDelegate {
    /// Posted when a download has ended; the file's URL is under the key "file".
    static let didFinish = Notification.Name("BackgroundDownloadsDidFinish")

    /// Called on the delegate queue with the progress.
    private let onProgress: @Sendable (_ received: Int64, _ total: Int64?) -> Void
    /// Called on the delegate queue with messages.
    private let onMessage: @Sendable (String) -> Void
    /// The folder for finished files.
    private let documents: URL

    private struct State {
        var session: URLSession?
        /// The system's completion handler, and the session it belongs to.
        var completion: (identifier: String, handler: @Sendable () -> Void)?
        var hasFinishedEvents = false
        /// The offset at which the last attempt started. An attempt that received nothing is not repeated at once.
        var lastOffset: Int64 = -1
        var file: URL?
    }
    private let state = Mutex(State())

    init(
        documents: URL, onProgress: @escaping @Sendable (_ received: Int64, _ total: Int64?) -> Void,
        onMessage: @escaping @Sendable (String) -> Void
    ) {
        self.documents = documents
        self.onProgress = onProgress
        self.onMessage = onMessage
    }

    // MARK: Register, begin, pause, continue

    /// Creates the session. After a relaunch this restores the download of the previous process, so it is called first, with
    /// the same identifier each time.
    ///
    /// - Parameter adjust: Changes the session's configuration before the session is made.
    func register(_ identifier: String, _ adjust: (URLSessionConfiguration) -> Void = { _ in }) {
        // Another program may use the same identifier.
        let configuration = URLSessionConfiguration.background(withIdentifier: "org.purl.example.\(identifier)")
        configuration.allowsCellularAccess = true
        configuration.backgroundSessionsDirectory = documents.appendingPathComponent(".sessions", isDirectory: true)
        adjust(configuration)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        state.withLock { $0.session = session }
    }

    /// Resumes the existing download, or starts one.
    func begin(_ url: URL) {
        guard let session else { return }
        let isAnswered = DispatchSemaphore(value: 0)
        session.getTasksWithCompletionHandler { _, _, downloads in
            // Called on the delegate queue, so the caller may wait on any other thread.
            assert(downloads.count <= 1)
            if let download = downloads.first {
                self.onMessage("begin: found the existing download")
                // Resuming a running task changes nothing.
                download.resume()
            } else {
                self.onMessage("begin: a new download")
                self.onProgress(0, nil)
                self.state.withLock { $0.lastOffset = -1 }
                session.downloadTask(with: url).resume()
            }
            isAnswered.signal()
        }
        isAnswered.wait()
    }

    func pause() {
        withDownload { download in
            // Suspensions are counted; one is enough.
            guard download.state == .running else { return }
            download.suspend()
            self.onMessage("paused")
        }
    }

    func `continue`() {
        withDownload { download in
            guard download.state == .suspended else { return }
            download.resume()
            self.onMessage("continued")
        }
    }

    /// Keeps the handler of a system that launched the program for the session: it is called when all events are delivered.
    func keep(_ handler: @escaping @Sendable () -> Void, forSession identifier: String) {
        state.withLock { $0.completion = ("org.purl.example.\(identifier)", handler) }
    }

    /// Lets the session go, which keeps this object alive, once its download has ended.
    func finish() { session?.finishTasksAndInvalidate() }

    private var session: URLSession? { state.withLock { $0.session } }

    private func withDownload(_ body: @escaping @Sendable (URLSessionDownloadTask) -> Void) {
        session?.getTasksWithCompletionHandler { _, _, downloads in downloads.first.map(body) }
    }
}

/// The delegate methods, in the order of the calls, on the session's queue, one at a time.
extension BackgroundDownloads: URLSessionDownloadDelegate {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        onMessage("resuming at byte \(fileOffset)")
        onProgress(fileOffset, expectedTotalBytes > 0 ? expectedTotalBytes : nil)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        onProgress(totalBytesWritten, totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil)
    }

    /// The file is removed when this returns, so it is moved. Its name is the task's identifier, which is unique in the session.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        guard Self.isTheResource(downloadTask) else { return onMessage("the server has no such file") }
        let place = documents.appendingPathComponent("\(downloadTask.taskIdentifier)")
        do {
            try? FileManager.default.removeItem(at: place)
            try FileManager.default.moveItem(at: location, to: place)
            state.withLock { $0.file = place }
            onMessage("moved to the documents")
        } catch {
            onMessage("cannot save: \(error.localizedDescription)")
        }
    }

    /// The last call about a task. After a relaunch it is the first one: the error of the previous process's download carries
    /// its resume data.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error = error as? URLError {
            let isRelaunch = error.backgroundTaskCancelledReason != nil
            onMessage(isRelaunch ? "interrupted by the end of the process" : "interrupted")
            if let resumeData = error.downloadTaskResumeData, isProgress(resumeData) {
                return session.downloadTask(withResumeData: resumeData).resume()
            }
            onMessage("failed: \(error.localizedDescription)")
        }
        let file = state.withLock { state in
            defer { state.file = nil }
            return state.file
        }
        // In the background the delegate received no progress.
        if file != nil { onProgress(task.countOfBytesReceived, task.countOfBytesReceived) }
        NotificationCenter.default.post(name: Self.didFinish, object: self, userInfo: file.map { ["file": $0] })
        callSystemIfDone()
    }

    /// All events from before the relaunch have been delivered.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        state.withLock { $0.hasFinishedEvents = true }
        onMessage("all events delivered")
        session.getTasksWithCompletionHandler { _, _, downloads in
            // While a download is running, the handler must not be called: the system would suspend the program.
            if downloads.isEmpty { self.callSystemIfDone() }
        }
    }

    private func callSystemIfDone() {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            let identifier = state.session?.configuration.identifier
            guard state.hasFinishedEvents, state.completion?.identifier == identifier else { return nil }
            defer { state.completion = nil }
            return state.completion?.handler
        }
        // The system's handler is to be called on the main thread.
        if let handler { DispatchQueue.main.async(execute: handler) }
    }

    /// Whether the last attempt received bytes. One that did not is not repeated at once, which would never end.
    private func isProgress(_ resumeData: Data) -> Bool {
        let offset = ResumeRecord(resumeData)?.bytesReceived ?? 0
        return state.withLock { state in
            defer { state.lastOffset = offset }
            return offset > state.lastOffset
        }
    }

    /// A session delivers an error page as a file; only the status tells the difference.
    private static func isTheResource(_ task: URLSessionDownloadTask) -> Bool {
        guard let status = (task.response as? HTTPURLResponse)?.statusCode else { return true }
        // 416 for the rest of a file: no bytes are missing, so the file is complete.
        let requestedRest = task.currentRequest?.value(forHTTPHeaderField: "Range") != nil
        return (200...299).contains(status) || (status == 416 && requestedRest)
    }
}
