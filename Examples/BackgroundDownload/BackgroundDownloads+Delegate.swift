import Foundation
import Purl

/// The delegate methods, in the order of the calls. They come on the session's own queue, one at a time.
extension BackgroundDownloads: URLSessionDownloadDelegate {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        onMessage("going on at byte \(fileOffset)")
        onProgress(fileOffset, expectedTotalBytes > 0 ? expectedTotalBytes : nil)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        onProgress(totalBytesWritten, totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil)
    }

    /// The file is gone when this returns. Its name is the task's number, which is unique in the session.
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

    /// The last call about a task. The first one after a relaunch: the download of the process before was cut short,
    /// and here is what it takes to go on.
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
        // In the background nobody was told of progress: now it is all there.
        if file != nil { onProgress(task.countOfBytesReceived, task.countOfBytesReceived) }
        NotificationCenter.default.post(name: Self.didFinish, object: self, userInfo: file.map { ["file": $0] })
        callSystemIfDone()
    }

    /// All calls about what happened before the relaunch have been made.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        state.withLock { $0.hasFinishedEvents = true }
        onMessage("the session has told everything")
        session.getTasksWithCompletionHandler { _, _, downloads in
            // A download that goes on is not done: called now, the system would put the program to sleep.
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
        // The system wants to be called on the main thread.
        if let handler { DispatchQueue.main.async(execute: handler) }
    }

    /// Going on at once is right when the last attempt has brought something. Otherwise it would never end.
    private func isProgress(_ resumeData: Data) -> Bool {
        let offset = ResumeRecord(resumeData)?.bytesReceived ?? 0
        return state.withLock { state in
            defer { state.lastOffset = offset }
            return offset > state.lastOffset
        }
    }

    /// To a session an error page is a file like any other; the status tells.
    private static func isTheResource(_ task: URLSessionDownloadTask) -> Bool {
        guard let status = (task.response as? HTTPURLResponse)?.statusCode else { return true }
        // "No such range", asked for the rest of a file: there is no rest, so the file is whole.
        let askedForRest = task.currentRequest?.value(forHTTPHeaderField: "Range") != nil
        return (200...299).contains(status) || (status == 416 && askedForRest)
    }
}
