import Foundation
import Purl

/// One button, one progress, one label: a download that is started, paused and gone on with.
///
/// Everything happens on the main queue, as in an application: the button is pressed there, and the session calls its
/// delegate there. `MainActor.assumeIsolated` tells the compiler so, and stops the program if it were not true.
@MainActor
final class DownloadController: NSObject, URLSessionDownloadDelegate {
    /// What to show: bytes so far and, where known, in all.
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    /// What to say.
    var onMessage: (String) -> Void = { _ in }
    /// Nothing is under way any more; true when the file is there.
    var onEnd: (_ isComplete: Bool) -> Void = { _ in }

    private let url: URL
    private let folder: URL

    /// Made when it is first needed, and kept: tasks come and go, the session stays. It keeps its delegate in turn,
    /// until `close()`.
    private lazy var session = URLSession(configuration: .default, delegate: self, delegateQueue: .main)
    /// The task under way, until its very last call: a cancelled task is never used again.
    private var task: URLSessionDownloadTask?
    /// What the next task needs to go on where the last one stopped.
    private var resumeData: Data?
    /// The pause has been asked for, and its handler has not run yet.
    private var isPausing = false
    private var isSaved = false

    var isBusy: Bool { task != nil }

    init(url: URL, folder: URL) {
        self.url = url
        self.folder = folder
    }

    /// The button: start, pause or resume, whichever it is the time for.
    func press() {
        if let task {
            // A second press while the first is still on its way must not start anything.
            guard !isPausing else { return onMessage("already pausing") }
            isPausing = true
            // The handler only keeps the data. What comes next is decided by the task's last call, which follows: the
            // file may have become complete just before the press.
            task.cancel(byProducingResumeData: { data in
                MainActor.assumeIsolated { self.resumeData = data }
            })
        } else if let resumeData {
            self.resumeData = nil
            start(session.downloadTask(withResumeData: resumeData))
        } else {
            onMessage("starting")
            onProgress(0, nil)
            start(session.downloadTask(with: url))
        }
    }

    /// When the screen goes away: otherwise the session would keep this object for ever. `deinit` is too late for it,
    /// because it would never come.
    func close() {
        session.invalidateAndCancel()
    }

    private func start(_ task: URLSessionDownloadTask) {
        self.task = task
        isSaved = false
        task.resume()
    }

    // MARK: Delegate, in the order of the calls

    /// First of all, and only for a task made from resume data. 0: the file on the server is another one now.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        MainActor.assumeIsolated {
            onProgress(fileOffset, expectedTotalBytes > 0 ? expectedTotalBytes : nil)
            onMessage(fileOffset > 0 ? "going on at byte \(fileOffset)" : "starting over")
        }
    }

    /// Again and again. The counts include what earlier tasks have brought.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        // −1 means that the server did not say. Divided by that, a progress would run backwards to minus infinity.
        let total = totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil
        MainActor.assumeIsolated { onProgress(totalBytesWritten, total) }
    }

    /// Once, with the whole file. It is gone when this method returns, so it is moved here and now.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        MainActor.assumeIsolated {
            guard Self.isTheResource(downloadTask) else { return onMessage("the server has no such file") }
            // A plain file name, whatever the server wrote: it cannot lead out of the folder.
            let name = downloadTask.response?.suggestedFilename ?? "download"
            let place = folder.appendingPathComponent(name)
            do {
                try? FileManager.default.removeItem(at: place)
                try FileManager.default.moveItem(at: location, to: place)
                isSaved = true
                onMessage("saved as \(name)")
            } catch {
                onMessage("cannot save: \(error.localizedDescription)")
            }
        }
    }

    /// The last call, exactly once, whether the task succeeded, failed or was cancelled: only now the next may begin.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            // A failure brings resume data too; a pause has left it already.
            resumeData = resumeData ?? (error as? URLError)?.downloadTaskResumeData
            self.task = nil
            defer { isPausing = false }
            switch (error, isPausing) {
            case (nil, _): onMessage(isSaved ? "finished" : "failed")
            case (_?, true): onMessage(resumeData == nil ? "stopped: this server cannot go on" : "paused")
            case (let error?, false): onMessage("failed: \(error.localizedDescription)")
            }
            onEnd(isSaved)
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
