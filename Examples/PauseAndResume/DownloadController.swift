import Foundation
import Purl

/// A download behind one button, which starts, pauses and resumes it.
///
/// Everything runs on the main queue, as in an application: the button is pressed there, and the session calls its delegate
/// there. `MainActor.assumeIsolated` tells the compiler, and stops the program if that were not true.
@MainActor
final class DownloadController: NSObject, URLSessionDownloadDelegate {
    /// Called with the bytes received and, if known, the total.
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    /// Called with messages.
    var onMessage: (String) -> Void = { _ in }
    /// Called when the download has ended or paused; `true` when the file is complete.
    var onEnd: (_ isComplete: Bool) -> Void = { _ in }

    private let url: URL
    private let folder: URL
    private let configuration: URLSessionConfiguration

    /// Created when first needed, and used for all tasks. It retains its delegate until `close()`.
    private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
    /// The current task, until its last delegate call. A cancelled task is not used again.
    private var task: URLSessionDownloadTask?
    /// What the next task needs to resume where the last one stopped.
    private var resumeData: Data?
    /// The task has been cancelled to pause it, and has not completed yet.
    private var isPausing = false
    private var isSaved = false

    var isBusy: Bool { task != nil }

    init(url: URL, folder: URL, configuration: URLSessionConfiguration = .default) {
        self.url = url
        self.folder = folder
        self.configuration = configuration
    }

    /// The button: starts, pauses or resumes the download.
    func press() {
        if let task {
            // A second press before the task has completed must not start another one.
            guard !isPausing else { return onMessage("already pausing") }
            isPausing = true
            // The handler only keeps the data. The task's last call decides what follows: the file may have become
            // complete just before the press.
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

    /// To be called when the screen closes: until then the session retains this object, so `deinit` is never called.
    func close() {
        session.invalidateAndCancel()
    }

    private func start(_ task: URLSessionDownloadTask) {
        self.task = task
        isSaved = false
        task.resume()
    }

    // MARK: Delegate, in the order of the calls

    /// Called first, and only for a task made from resume data. An offset of 0: the file on the server has changed.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        MainActor.assumeIsolated {
            onProgress(fileOffset, expectedTotalBytes > 0 ? expectedTotalBytes : nil)
            onMessage(fileOffset > 0 ? "resuming at byte \(fileOffset)" : "starting over")
        }
    }

    /// Called repeatedly. The counts include the bytes of earlier tasks.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        // −1 means that the length is unknown; a percentage of it would be negative.
        let total = totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil
        MainActor.assumeIsolated { onProgress(totalBytesWritten, total) }
    }

    /// Called once, with the complete file. It is removed when this method returns, so it is moved here.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        MainActor.assumeIsolated {
            guard Self.isTheResource(downloadTask) else { return onMessage("the server has no such file") }
            // The suggestion is always one path component, so it cannot lead out of the folder.
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

    /// The last call, exactly once, whether the task succeeded, failed or was cancelled. Then the next task may start.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            // A failure carries resume data, too; a pause has stored it already.
            resumeData = resumeData ?? (error as? URLError)?.downloadTaskResumeData
            self.task = nil
            defer { isPausing = false }
            switch (error, isPausing) {
            case (nil, _): onMessage(isSaved ? "finished" : "failed")
            case (_?, true): onMessage(resumeData == nil ? "stopped: this server does not support resuming" : "paused")
            case (let error?, false): onMessage("failed: \(error.localizedDescription)")
            }
            onEnd(isSaved)
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
