import Foundation
import Purl

/// Exercise 3: saves the files of any number of downloads in a folder, and reports how far they are.
///
/// - `onProgress` is called with the fraction of the whole that has arrived, from 0 to 1, and with `nil` when the whole is
///   unknown.
/// - `onEnd` is called once for each task: with the name of the saved file, or with `nil` when there is none.
/// - A file never takes the place of another one. When the suggested name is taken, a number is added: `report.pdf`,
///   `report 2.pdf`, `report 3.pdf` …
/// - Only a success is saved, no error page.
///
/// Here none of these is so.
final class Exercise3: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    private let folder: URL
    private let onProgress: @Sendable (Double?) -> Void
    private let onEnd: @Sendable (String?) -> Void

    init(
        folder: URL, onProgress: @escaping @Sendable (Double?) -> Void, onEnd: @escaping @Sendable (String?) -> Void
    ) {
        self.folder = folder
        self.onProgress = onProgress
        self.onEnd = onEnd
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        // Which of the three numbers make the fraction, and when is there none?
        onProgress(Double(bytesWritten) / Double(totalBytesExpectedToWrite))
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        // Is it a success? Is the name free? Keep the name for the last call, for each task.
        try? FileManager.default.moveItem(at: location, to: folder.appendingPathComponent("download"))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onEnd("download")
    }
}
