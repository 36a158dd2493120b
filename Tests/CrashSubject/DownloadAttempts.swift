import Foundation
import Purl
import Synchronization

/// Download tasks that go on from resume data, in an ordinary or a background session whose files all lie in one
/// folder.
final class DownloadAttempts: NSObject, Attempts, URLSessionDownloadDelegate {
    private struct State {
        var session: URLSession?
        var resumeData: Data?
        var moveFailure: (any Error)?
        var end: CheckedContinuation<Void, any Error>?
    }

    private let url: URL
    private let file: URL
    private let configuration: URLSessionConfiguration
    private let state = Mutex(State())

    init(at url: URL, in folder: URL, isBackground: Bool) {
        self.url = url
        file = folder.appendingPathComponent("file")
        if isBackground {
            configuration = .background(withIdentifier: "full disk")
            configuration.backgroundSessionsDirectory = folder
        } else {
            configuration = .default
            configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        }
    }

    var bytesRecorded: Int64? {
        state.withLock(\.resumeData).flatMap(ResumeRecord.init)?.bytesReceived
    }

    func next() async throws -> URL {
        let task = nextTask()
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.end = continuation }
            task.resume()
        }
        return file
    }

    private func nextTask() -> URLSessionDownloadTask {
        let session =
            state.withLock(\.session) ?? URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        state.withLock { $0.session = session }
        guard let resumeData = state.withLock(\.resumeData) else { return session.downloadTask(with: url) }
        return session.downloadTask(withResumeData: resumeData)
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        do {
            try FileManager.default.moveItem(at: location, to: file)
        } catch {
            state.withLock { $0.moveFailure = error }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (end, failure) = state.withLock { state in
            // An attempt that could not even begin tells nothing new: the older resume data still holds.
            state.resumeData = (error as? URLError)?.downloadTaskResumeData ?? state.resumeData
            defer { state.end = nil }
            return (state.end, error ?? state.moveFailure)
        }
        if let failure { end?.resume(throwing: failure) } else { end?.resume() }
    }
}
