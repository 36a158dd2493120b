import Foundation

/// Whom a task's calls go to: its own delegate where that has the method's protocol, else the session's. All of this
/// runs on the delegate queue.
extension URLSessionTask {
    var taskDelegate: (any URLSessionTaskDelegate)? {
        delegate ?? session?.delegate as? any URLSessionTaskDelegate
    }

    var dataDelegate: (any URLSessionDataDelegate)? {
        delegate as? any URLSessionDataDelegate ?? session?.delegate as? any URLSessionDataDelegate
    }

    var downloadDelegate: (any URLSessionDownloadDelegate)? {
        delegate as? any URLSessionDownloadDelegate ?? session?.delegate as? any URLSessionDownloadDelegate
    }

    /// The last calls of a task that reports to its delegate: the file, if there is one, then the completion.
    func callDelegateLast(_ failure: (any Error)?, file: PartialFile?, metrics: DelegateQueue.Call? = nil) {
        guard let session else { return }
        let wasCancelled = isCancelled
        if failure == nil, let file, let download = self as? URLSessionDownloadTask {
            if !wasCancelled {
                try? session.background?.update(taskIdentifier) { $0.finished?.isHandedOver = true }
                downloadDelegate?.urlSession(session, downloadTask: download, didFinishDownloadingTo: file.location)
            }
            // A delegate that wants the file has moved or opened it.
            file.remove()
        }
        let final = conclude(failure)
        metrics?()
        taskDelegate?.urlSession(session, task: self, didCompleteWithError: final)
        finish()
    }

    /// After the last call: lets go of the delegate, and the session lets go of the task.
    func finish() {
        release()
        session?.forget(self)
    }
}
