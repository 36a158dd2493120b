import Foundation

#if PURL
    import Purl
    import Synchronization
#else
    import FoundationNetworking
    import Synchronization
#endif

/// A response that is not what was asked for.
struct BadStatus: Error {
    let status: Int
}

/// A download task. Its resume data is a file beside what it downloads, so that another process resumes it.
final class TaskAttempt: NSObject, URLSessionDownloadDelegate {
    private struct State {
        var failure: (any Error)?
        var end: CheckedContinuation<Void, any Error>?
    }

    private let file: URL
    private let resumeData: URL
    private let configuration: URLSessionConfiguration
    private let state = Mutex(State())

    /// - Parameter folder: Where everything is kept.
    init(in folder: URL) {
        file = folder.appendingPathComponent("file")
        resumeData = folder.appendingPathComponent("resume-data")
        configuration = .default
        configuration.timeoutIntervalForRequest = 2
        #if PURL
            configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        #endif
    }

    func run(_ url: URL) async throws {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        let task =
            if let data = try? Data(contentsOf: resumeData) {
                session.downloadTask(withResumeData: data)
            } else {
                session.downloadTask(with: url)
            }
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.end = continuation }
            task.resume()
        }
        try? FileManager.default.removeItem(at: resumeData)
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        do {
            let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0
            // An error page arrives as a file, too. The resume data of the attempt before is still valid.
            // A 416 to a request for the rest ends a download that lacks nothing.
            guard (200..<300).contains(status) || status == 416 else { throw BadStatus(status: status) }
            try FileManager.default.moveItem(at: location, to: file)
        } catch {
            state.withLock { $0.failure = error }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let userInfo = (error as NSError?)?.userInfo ?? [:]
        if let data = userInfo["NSURLSessionDownloadTaskResumeData"] as? Data {
            try? data.write(to: resumeData, options: .atomic)
        }
        let (end, failure) = state.withLock { state in
            defer { state.end = nil }
            return (state.end, error ?? state.failure)
        }
        if let failure { end?.resume(throwing: failure) } else { end?.resume() }
    }
}
