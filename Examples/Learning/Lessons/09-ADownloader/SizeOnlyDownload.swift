import Foundation
import Purl

/// A download that looks at sizes only. It mixes versions: this is how not to do it.
final class SizeOnlyDownload: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private let file: URL
    private var output: OutputStream?

    init(_ file: URL) {
        self.file = file
    }

    /// A task that asks for what follows the bytes on disk.
    func task(for url: URL, in session: URLSession) -> URLSessionDataTask {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        let size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        var request = URLRequest(url: url)
        request.setValue("bytes=\(size)-", forHTTPHeaderField: "Range")
        let task = session.dataTask(with: request)
        task.delegate = self
        return task
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        // The file is smaller than the total after the slash: the rest is appended, the rest of anything.
        output = OutputStream(toFileAtPath: file.path, append: true)
        output?.open()
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        _ = data.withUnsafeBytes { bytes in
            output?.write(bytes.bindMemory(to: UInt8.self).baseAddress!, maxLength: bytes.count)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        output?.close()
    }
}
