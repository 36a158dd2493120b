import Foundation
import Purl

/// Resumes a download as a common recipe does it, and sooner or later makes a file of two versions. Do not copy it.
final class NaiveResume: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let url: URL
    private let file: URL
    private let configuration: URLSessionConfiguration

    // The session calls its delegate on one queue, one call at a time: that guards these.
    private var appender: FileAppender?
    private var size: Int64
    private var total: Int64 = 0

    init(_ url: URL, to file: URL, configuration: URLSessionConfiguration) {
        self.url = url
        self.file = file
        self.configuration = configuration
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    func start() {
        var request = URLRequest(url: url)
        if size > 0 { request.setValue("bytes=\(size)-", forHTTPHeaderField: "Range") }
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
    }

    /// Opens the file at its end, whatever the response is.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        total = response.expectedContentLength + size
        appender = try? FileAppender(.stream, file)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        try? appender?.append(data)
        size += Int64(data.count)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        appender?.close()
    }
}
