import Foundation
import Purl

/// What a download reports.
enum SavedDownloadEvent: Sendable, Equatable {
    /// So many bytes have been received, those of earlier launches included.
    case received(Int64)
    /// The download was paused.
    case paused
    /// The file is in its place.
    case complete
    /// The download has failed. It can be started again.
    case failed
}

/// A download that can be paused, and resumed when the program has been launched again. All on the main queue.
@MainActor
protocol SavedDownload: AnyObject {
    /// Starts the download, or resumes it where an earlier one has stopped.
    func start()
    /// Pauses it.
    func pause()
    /// Ends the use of this object.
    func close()
}

/// Exercise 4: a download that outlives the program.
///
/// - When the download is paused, its resume data is stored in the file `resume-data` in `folder`.
/// - When it fails, so is the resume data of the error, if it has any.
/// - `start()` resumes with the data in that file, if there is one, else from the beginning.
/// - When the download is complete, the file is at `download` in `folder`, and `resume-data` is removed.
/// - `.paused`, `.complete` and `.failed` are reported when all of this is done, once for each start.
///
/// Here every start is one from the beginning.
@MainActor
final class Exercise4: NSObject, URLSessionDownloadDelegate, SavedDownload {
    private let url: URL
    private let folder: URL
    private let configuration: URLSessionConfiguration
    private let onEvent: (SavedDownloadEvent) -> Void
    private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
    private var task: URLSessionDownloadTask?

    init(
        url: URL, folder: URL, configuration: URLSessionConfiguration,
        onEvent: @escaping (SavedDownloadEvent) -> Void
    ) {
        self.url = url
        self.folder = folder
        self.configuration = configuration
        self.onEvent = onEvent
    }

    func start() {
        // Look for resume data here.
        task = session.downloadTask(with: url)
        task?.resume()
    }

    func pause() {
        // Another method of the task produces resume data.
        task?.cancel()
    }

    func close() {
        session.invalidateAndCancel()
    }

    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        MainActor.assumeIsolated { onEvent(.received(totalBytesWritten)) }
    }

    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        MainActor.assumeIsolated {
            try? FileManager.default.moveItem(at: location, to: folder.appendingPathComponent("download"))
        }
    }

    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated { onEvent(error == nil ? .complete : .failed) }
    }
}
