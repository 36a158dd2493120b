import Foundation
import Purl

/// An upload behind one button, which starts, pauses and resumes it.
///
/// Everything runs on the main queue, as in an application: the button is pressed there, and the session calls its delegate
/// there. `MainActor.assumeIsolated` tells the compiler, and stops the program if that were not true.
@MainActor
final class UploadController: NSObject, URLSessionDataDelegate {
    /// Called with messages.
    var onMessage: (String) -> Void = { _ in }
    /// Called when the upload has ended or paused; `true` when the server has the file.
    var onEnd: (_ isComplete: Bool) -> Void = { _ in }

    private let file: URL
    private let request: URLRequest

    /// Created when first needed, and used for all tasks. It retains its delegate until `close()`.
    private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
    /// The current task, until its last delegate call. A cancelled task is not used again.
    private var task: URLSessionUploadTask?
    /// What the next task needs to resume where the last one stopped. A program that is to resume after a quit writes it to a
    /// file.
    private var resumeData: Data?
    /// The task has been cancelled to pause it, and has not completed yet.
    private var isPausing = false
    /// The bytes of the file that have been sent, as the last call said.
    private var sent: Int64?

    var isBusy: Bool { task != nil }

    init(_ file: URL, to url: URL) {
        self.file = file
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        self.request = request
    }

    /// The requests offer the server to take the upload in parts. One that cannot do so ignores that.
    private var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.resumableUploads = .always
        return configuration
    }

    /// The button: starts, pauses or resumes the upload.
    func press() {
        if let task {
            // A second press before the task has completed must not start another one.
            guard !isPausing else { return onMessage("already pausing") }
            isPausing = true
            // The handler only keeps the data. The task's last call decides what follows.
            task.cancel(byProducingResumeData: { data in
                MainActor.assumeIsolated { self.resumeData = data }
            })
        } else if let resumeData {
            self.resumeData = nil
            start(session.uploadTask(withResumeData: resumeData))
        } else {
            start(session.uploadTask(with: request, fromFile: file))
        }
    }

    /// To be called when the screen closes: until then the session retains this object, so `deinit` is never called.
    func close() {
        session.invalidateAndCancel()
    }

    private func start(_ task: URLSessionUploadTask) {
        self.task = task
        sent = nil
        task.resume()
    }

    // MARK: Delegate, in the order of the calls

    /// Called when the file is not what it was when its beginning was sent.
    nonisolated func urlSession(
        _ session: URLSession, task: URLSessionTask, willRestartUploadBecause reason: any Error
    ) {
        MainActor.assumeIsolated { onMessage("the file has changed") }
    }

    /// Called repeatedly. The counts are those of the whole file, also in a request that sends the rest of it.
    nonisolated func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        MainActor.assumeIsolated {
            let start = totalBytesSent - bytesSent
            // Another place than the last call's: a request with the rest of the file has begun.
            if start != sent { onMessage(start == 0 ? "sending the file" : "sending the file from byte \(start)") }
            sent = totalBytesSent
        }
    }

    /// The last call, exactly once, whether the task succeeded, failed or was cancelled. Then the next task may start.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            // A failure carries resume data, too; a pause has stored it already.
            resumeData = resumeData ?? (error as? URLError)?.uploadTaskResumeData
            self.task = nil
            let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
            switch (error, isPausing) {
            case (nil, _): onMessage("the server answered \(status)")
            case (_?, true): onMessage(resumeData == nil ? "stopped: this server does not support resuming" : "paused")
            case (let error?, false): onMessage("failed: \(error.localizedDescription)")
            }
            isPausing = false
            onEnd(error == nil && (200...299).contains(status))
        }
    }
}
