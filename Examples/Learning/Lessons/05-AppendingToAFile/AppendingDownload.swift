import Foundation
import Purl

/// A download whose bytes are appended to a file as they arrive. However it ends, they are on disk.
final class AppendingDownload: NSObject, @unchecked Sendable {
    private let url: URL
    private let file: URL
    private let way: FileAppender.Way
    private let onProgress: @Sendable (_ size: Int64, _ total: Int64) -> Void
    private let onEnd: @Sendable (String) -> Void

    // The program's: its main actor guards these.
    @MainActor private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    @MainActor private var task: URLSessionDataTask?
    private let configuration: URLSessionConfiguration

    // The delegate's: the session's queue guards these, one call at a time.
    private var appender: FileAppender?
    private var size: Int64 = 0
    private var total: Int64 = NSURLSessionTransferSizeUnknown
    private var failure: (any Error)?

    /// - Parameters:
    ///   - url: What is downloaded.
    ///   - file: Where to. It is emptied when the response arrives.
    ///   - way: How the file is written.
    ///   - configuration: The session's.
    ///   - onProgress: Called on the session's queue after each piece, with the size of the file and of the whole.
    ///   - onEnd: Called on the session's queue with what has become of the download.
    init(
        _ url: URL, to file: URL, way: FileAppender.Way, configuration: URLSessionConfiguration = .default,
        onProgress: @escaping @Sendable (_ size: Int64, _ total: Int64) -> Void,
        onEnd: @escaping @Sendable (String) -> Void
    ) {
        self.url = url
        self.file = file
        self.way = way
        self.configuration = configuration
        self.onProgress = onProgress
        self.onEnd = onEnd
    }

    // MARK: Start, suspend, resume, close

    @MainActor
    func start() {
        guard task == nil else { return }
        task = session.dataTask(with: url)
        task?.resume()
    }

    /// Suspensions are counted: two of them need two calls of `resume`. So only a running task is suspended.
    @MainActor
    func suspend() {
        guard let task, task.state == .running else { return }
        task.suspend()
    }

    @MainActor
    func resume() {
        guard let task, task.state == .suspended else { return }
        task.resume()
    }

    /// The screen has gone. The session cancels what it does, and lets go of its delegate.
    @MainActor
    func close() {
        guard task != nil else { return }
        session.invalidateAndCancel()
    }
}

extension AppendingDownload: URLSessionDataDelegate {
    /// The head has arrived: this is when it is known whether there is something to put into a file.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { return completionHandler(.cancel) }
        total = response.expectedContentLength
        do {
            // What an earlier run has left does not belong to this response.
            try Data().write(to: file)
            appender = try FileAppender(way, file)
            completionHandler(.allow)
        } catch {
            failure = error
            completionHandler(.cancel)
        }
    }

    /// A piece of the body has arrived. When this method returns, the piece is in the file.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        do {
            try appender?.append(data)
            size += Int64(data.count)
            onProgress(size, total)
        } catch {
            // The disk is full, perhaps. More pieces would leave a gap.
            failure = error
            dataTask.cancel()
        }
    }

    /// The last call: whatever has happened, the file is closed here.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        appender?.close()
        appender = nil
        if let error = failure ?? error {
            onEnd("\(size) bytes in the file, then: \(error.localizedDescription)")
        } else {
            onEnd("\(size) bytes in the file, which are all")
        }
    }
}
