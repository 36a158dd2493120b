import Foundation
import Purl

/// A delegate that shows the progress of a download, and saves its file in a folder.
final class FileSaver: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    /// How far a download has come.
    struct Progress: Sendable, Equatable {
        let received: Int64
        /// `nil`: the server has not sent the length.
        let total: Int64?

        /// From 0 to 1; `nil` when the total is unknown.
        var fraction: Double? {
            guard let total, total > 0 else { return nil }
            return Double(received) / Double(total)
        }
    }

    /// How a download has ended.
    enum Outcome: Sendable {
        case saved(URL)
        case refused(status: Int)
        case failed(any Error)
    }

    // Guarded by the session's queue: one call at a time.
    private var outcome: Outcome?
    private let folder: URL
    private let onProgress: @Sendable (Progress) -> Void
    private let onEnd: @Sendable (Outcome) -> Void

    init(
        folder: URL, onProgress: @escaping @Sendable (Progress) -> Void,
        onEnd: @escaping @Sendable (Outcome) -> Void
    ) {
        self.folder = folder
        self.onProgress = onProgress
        self.onEnd = onEnd
    }

    /// Bytes have been written to the temporary file.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        // −1 means that the length is unknown: a fraction of it would be negative.
        let total = totalBytesExpectedToWrite >= 0 ? totalBytesExpectedToWrite : nil
        onProgress(Progress(received: totalBytesWritten, total: total))
    }

    /// The file is complete. It is removed when this method returns, so it is moved here.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 200
        guard (200...299).contains(status) else {
            outcome = .refused(status: status)
            return
        }
        let place = folder.appendingPathComponent(downloadTask.response?.suggestedFilename ?? "download")
        do {
            // `moveItem` does not replace: an older file of this name goes first.
            if FileManager.default.fileExists(atPath: place.path) { try FileManager.default.removeItem(at: place) }
            try FileManager.default.moveItem(at: location, to: place)
            outcome = .saved(place)
        } catch {
            outcome = .failed(error)
        }
    }

    /// The last call. Without an error the file was delivered before.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { outcome = .failed(error) }
        if let outcome { onEnd(outcome) }
    }
}
