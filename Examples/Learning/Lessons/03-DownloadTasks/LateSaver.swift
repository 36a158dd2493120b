import Foundation
import Purl

/// A delegate that takes the temporary file for its own. Do not copy this: by the last call the file is gone.
final class LateSaver: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var location: URL?
    private let onEnd: @Sendable (_ fileExists: Bool) -> Void

    init(onEnd: @escaping @Sendable (_ fileExists: Bool) -> Void) {
        self.onEnd = onEnd
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        self.location = location
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onEnd(location.map { FileManager.default.fileExists(atPath: $0.path) } ?? false)
    }
}
