import Foundation
import Purl

/// The solution of exercise 8.
final class Solution8: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var hasDeliveredEvents = false
    private var continued = 0
    private let place: URL
    private let onIdle: @Sendable () -> Void

    init(movingTo place: URL, _ onIdle: @escaping @Sendable () -> Void) {
        self.place = place
        self.onIdle = onIdle
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        try? FileManager.default.moveItem(at: location, to: place)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let error = error as? URLError
        if error?.backgroundTaskCancelledReason != nil, let resumeData = error?.downloadTaskResumeData {
            continued += 1
            session.downloadTask(withResumeData: resumeData).resume()
        } else if error?.backgroundTaskCancelledReason == nil {
            continued -= 1
            callIfIdle()
        }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        hasDeliveredEvents = true
        callIfIdle()
    }

    private func callIfIdle() {
        if hasDeliveredEvents, continued == 0 { onIdle() }
    }
}
