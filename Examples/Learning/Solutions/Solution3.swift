import Foundation
import Purl

/// The solution of exercise 3.
final class Solution3: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var names: [Int: String] = [:]
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
        guard totalBytesExpectedToWrite > 0 else { return onProgress(nil) }
        onProgress(Double(totalBytesWritten) / Double(totalBytesExpectedToWrite))
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 200
        guard (200...299).contains(status) else { return }
        let name = freeName(for: downloadTask.response?.suggestedFilename ?? "download")
        do {
            try FileManager.default.moveItem(at: location, to: folder.appendingPathComponent(name))
            names[downloadTask.taskIdentifier] = name
        } catch {
            // The file stays unsaved, and the last call reports no name.
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onEnd(names.removeValue(forKey: task.taskIdentifier))
    }

    private func freeName(for suggestion: String) -> String {
        let name = suggestion as NSString
        let ending = name.pathExtension.isEmpty ? "" : ".\(name.pathExtension)"
        var candidate = suggestion
        var number = 2
        while FileManager.default.fileExists(atPath: folder.appendingPathComponent(candidate).path) {
            candidate = "\(name.deletingPathExtension) \(number)\(ending)"
            number += 1
        }
        return candidate
    }
}
