import Foundation

#if PURL
    import Purl
    import Synchronization
#else
    import FoundationNetworking
    import Synchronization
#endif

/// An upload task from a file. Its resume data is a file beside the one it uploads, so that another process resumes it.
final class UploadAttempt: NSObject, URLSessionTaskDelegate {
    private let file: URL
    private let resumeData: URL
    private let configuration: URLSessionConfiguration
    private let end = Mutex<CheckedContinuation<Void, any Error>?>(nil)

    /// - Parameter folder: Where everything is kept; `file` is what is uploaded.
    init(in folder: URL) {
        file = folder.appendingPathComponent("file")
        resumeData = folder.appendingPathComponent("resume-data")
        configuration = .default
        configuration.timeoutIntervalForRequest = 2
        #if PURL
            configuration.resumableUploads = .always
        #endif
    }

    func run(_ url: URL) async throws {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        let task = task(of: session, to: url)
        try await withCheckedThrowingContinuation { continuation in
            end.withLock { $0 = continuation }
            task.resume()
        }
        try? FileManager.default.removeItem(at: resumeData)
    }

    private func task(of session: URLSession, to url: URL) -> URLSessionUploadTask {
        #if PURL
            if let data = try? Data(contentsOf: resumeData) { return session.uploadTask(withResumeData: data) }
        #endif
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        return session.uploadTask(with: request, fromFile: file)
    }

    // MARK: Delegate calls

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        // What was there was used; what cannot be resumed any more begins anew.
        try? FileManager.default.removeItem(at: resumeData)
        if let data = (error as NSError?)?.userInfo["NSURLSessionUploadTaskResumeData"] as? Data {
            try? data.write(to: resumeData, options: .atomic)
        }
        let continuation = end.withLock { end in
            defer { end = nil }
            return end
        }
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        if let error {
            continuation?.resume(throwing: error)
        } else if (200..<300).contains(status) {
            continuation?.resume()
        } else {
            continuation?.resume(throwing: BadStatus(status: status))
        }
    }
}
