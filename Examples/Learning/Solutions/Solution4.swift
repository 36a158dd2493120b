import Foundation
import Purl

/// The solution of exercise 4.
@MainActor
final class Solution4: NSObject, URLSessionDownloadDelegate, SavedDownload {
    private let url: URL
    private let folder: URL
    private let configuration: URLSessionConfiguration
    private let onEvent: (SavedDownloadEvent) -> Void
    private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
    private var task: URLSessionDownloadTask?
    private var isPausing = false
    private var isSaved = false

    private var resumeDataFile: URL { folder.appendingPathComponent("resume-data") }

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
        guard task == nil else { return }
        isPausing = false
        isSaved = false
        if let data = try? Data(contentsOf: resumeDataFile) {
            task = session.downloadTask(withResumeData: data)
        } else {
            task = session.downloadTask(with: url)
        }
        task?.resume()
    }

    func pause() {
        guard let task, !isPausing else { return }
        isPausing = true
        task.cancel(byProducingResumeData: { data in
            MainActor.assumeIsolated { self.store(data) }
        })
    }

    func close() {
        session.invalidateAndCancel()
    }

    private func store(_ data: Data?) {
        if let data {
            try? data.write(to: resumeDataFile, options: .atomic)
        } else {
            try? FileManager.default.removeItem(at: resumeDataFile)
        }
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
            let place = folder.appendingPathComponent("download")
            isSaved = (try? FileManager.default.moveItem(at: location, to: place)) != nil
        }
    }

    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            self.task = nil
            if isSaved {
                store(nil)
                onEvent(.complete)
            } else if isPausing {
                // The handler has stored the data.
                onEvent(.paused)
            } else {
                store((error as? URLError)?.downloadTaskResumeData)
                onEvent(.failed)
            }
        }
    }
}
