import Foundation
import Purl

/// A download that outlives whatever ends it: a quit, a crash, a lost network. The next launch shows how far it had
/// come, without a network, and goes on there.
///
/// A data task appends to the file through an `OutputStream`. What is known of the bytes lies in a record beside the
/// file, which the sink brings up to date while they come.
@MainActor
final class OfflineDownload: NSObject, URLSessionDataDelegate {
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    var onMessage: (String) -> Void = { _ in }
    var onEnd: () -> Void = {}

    private let url: URL
    private let file: URL
    private var session: URLSession?
    private var task: URLSessionDataTask?
    private var timer: Timer?

    /// What the record beside the file says, read anew each time; `nil` before the first byte. It counts the bytes
    /// that are safe and known to be of one version, so it may be a little less than the length of the file: what
    /// was written in the second before a crash is fetched again.
    var saved: ResumeRecord? { ResumeRecord(contentsOf: file.appendingPathExtension("resume")) }

    init(_ url: URL, to file: URL) {
        self.url = url
        self.file = file
    }

    /// Begins, goes on, or finds that there is nothing to do: the task knows from the sink.
    func start() {
        guard task == nil else { return }
        let session = session ?? URLSession(configuration: .default, delegate: self, delegateQueue: .main)
        self.session = session
        task = session.dataTask(with: url, writingTo: OutputStreamSink(fileAt: file))
        task?.resume()
        // The bytes go past here, straight to the file. The bar looks at the task's count now and then.
        timer = .scheduledTimer(withTimeInterval: 0.1, repeats: true) { _ in
            MainActor.assumeIsolated { self.showProgress() }
        }
    }

    /// A polite end: every byte that has come is kept. After a crash it is the last second that is missing.
    func quit() {
        guard let session else { return onEnd() }
        session.invalidateAndCancel()
    }

    private func showProgress() {
        // Before the response the task counts from nothing, which would make the bar jump back.
        guard let task, task.response != nil else { return }
        let expected = task.countOfBytesExpectedToReceive
        onProgress(task.countOfBytesReceived, expected > 0 ? expected : nil)
    }

    // MARK: Delegate, in the order of the calls

    /// Once, when the server has answered. Nothing has been done to the file yet.
    nonisolated func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        MainActor.assumeIsolated {
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            guard [200, 206].contains(status) else {
                onMessage("\(status): the file stays as it is")
                return completionHandler(.cancel)
            }
            onMessage(status == 206 ? "going on at byte \(dataTask.countOfBytesReceived)" : "from the beginning")
            showProgress()
            completionHandler(.allow)
        }
    }

    /// The last call about the task. The file and its record are up to date by now.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            showProgress()
            timer?.invalidate()
            self.task = nil
            switch (error as? URLError)?.code {
            case nil:
                // No response and no error: the file was whole, and nobody was asked.
                onMessage(task.response == nil ? "complete: nothing was asked for" : "finished")
                quit()
            case .cancelled: onMessage("stopped")
            default: onMessage("the connection was lost")
            }
        }
    }

    /// The very last call: the session has let go of this object.
    nonisolated func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        MainActor.assumeIsolated { onEnd() }
    }
}
