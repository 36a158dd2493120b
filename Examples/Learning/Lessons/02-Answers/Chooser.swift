import Foundation
import Purl

/// A delegate that decides what is done with the response to one request.
///
/// It follows redirects that stay on the host, keeps a short text in memory, asks before it stores anything else in a file,
/// and refuses what is not a success.
final class Chooser: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
    /// How a task has ended.
    enum Outcome: Sendable {
        case text(String)
        case file(URL)
        case refused(status: Int)
        case failed(String)
    }

    // Guarded by the session's queue: one call at a time.
    private var body = Data()
    /// Why the task was cancelled, or where its file is. The last call cannot tell.
    private var decided: Outcome?
    private let folder: URL
    private let mayStore: @Sendable (URLResponse, @escaping @Sendable (Bool) -> Void) -> Void
    private let onEnd: @Sendable (Outcome) -> Void

    /// - Parameters:
    ///   - folder: Where files are stored.
    ///   - mayStore: Asks whether a body may be stored in a file, and answers when it likes, from any queue.
    ///   - onEnd: Called when the task has ended.
    init(
        folder: URL, mayStore: @escaping @Sendable (URLResponse, @escaping @Sendable (Bool) -> Void) -> Void,
        onEnd: @escaping @Sendable (Outcome) -> Void
    ) {
        self.folder = folder
        self.mayStore = mayStore
        self.onEnd = onEnd
    }

    /// The server says that the resource is elsewhere: `request` is what the session would send next.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let staysOnHost = request.url?.host == response.url?.host
        completionHandler(staysOnHost ? request : nil)
    }

    /// The head has arrived: what is to be done with the body?
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200...299).contains(status) else {
            decided = .refused(status: status)
            return completionHandler(.cancel)
        }
        // The length is −1 when the server does not send it: such a body may be of any size.
        let isShort = (0...1000).contains(response.expectedContentLength)
        if isShort, response.mimeType == "text/plain" { return completionHandler(.allow) }
        mayStore(response) { isAllowed in completionHandler(isAllowed ? .becomeDownload : .cancel) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        body.append(data)
    }

    /// The data task is gone. All further calls are for the download task.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        downloadTask.taskDescription = "was task \(dataTask.taskIdentifier)"
    }

    /// The file is complete. It is removed when this method returns.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let place = folder.appendingPathComponent(downloadTask.response?.suggestedFilename ?? "download")
        do {
            try FileManager.default.moveItem(at: location, to: place)
            decided = .file(place)
        } catch {
            decided = .failed("cannot save: \(error.localizedDescription)")
        }
    }

    /// The last call. After `.cancel` there is an error, as after any other cancellation.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let decided {
            onEnd(decided)
        } else if let error {
            onEnd(.failed(error.localizedDescription))
        } else {
            onEnd(.text(String(decoding: body, as: UTF8.self)))
        }
    }
}
