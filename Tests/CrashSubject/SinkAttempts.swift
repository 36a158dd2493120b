import Foundation
import Purl
import Synchronization

/// Data tasks that append to a file and keep a record beside it.
final class SinkAttempts: NSObject, Attempts, URLSessionDataDelegate {
    private let url: URL
    private let file: URL
    private let end = Mutex<CheckedContinuation<Void, any Error>?>(nil)

    init(at url: URL, in folder: URL) {
        self.url = url
        file = folder.appendingPathComponent("file")
    }

    var bytesRecorded: Int64? {
        ResumeRecord(contentsOf: file.appendingPathExtension("resume"))?.bytesReceived
    }

    func next() async throws -> URL {
        let session = URLSession(configuration: .default, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
        try await withCheckedThrowingContinuation { continuation in
            end.withLock { $0 = continuation }
            task.resume()
        }
        return file
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        if let error { end?.resume(throwing: error) } else { end?.resume() }
    }
}
