import Foundation
import Purl

/// Exercise 8: the delegate of a background session in a program that was started again.
///
/// It is to continue the download of the process before, to move the file to `place`, and to call `onIdle` once: when all
/// events from before are delivered, and the download has ended as well.
///
/// Here nothing is continued, and `onIdle` is called too early.
final class Exercise8: NSObject, URLSessionDownloadDelegate {
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
        // Continue here what the error has resume data for.
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        onIdle()
    }
}
