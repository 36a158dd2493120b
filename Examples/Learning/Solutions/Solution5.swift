import Foundation
import Purl

/// The solution of exercise 5.
final class Solution5: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var handle: FileHandle?
    private let file: URL
    private let onEnd: @Sendable () -> Void

    init(file: URL, onEnd: @escaping @Sendable () -> Void) {
        self.file = file
        self.onEnd = onEnd
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { return completionHandler(.cancel) }
        do {
            // A handle does not create its file, and stands at the beginning of it.
            if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            self.handle = handle
            completionHandler(.allow)
        } catch {
            completionHandler(.cancel)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        do {
            try handle?.write(contentsOf: data)
        } catch {
            // A piece that follows would stand in the wrong place.
            dataTask.cancel()
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        try? handle?.close()
        handle = nil
        onEnd()
    }
}
