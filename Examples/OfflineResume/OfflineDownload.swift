import Foundation
import Purl

/// A download that survives a quit, a crash and a lost network. The next launch shows its progress without a network, and
/// resumes it.
///
/// A data task appends to the file through an `OutputStream`. The sink keeps a record of the bytes beside the file.
@MainActor
final class OfflineDownload: NSObject, URLSessionDataDelegate {
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    var onMessage: (String) -> Void = { _ in }
    var onEnd: () -> Void = {}

    private let url: URL
    private let file: URL
    private let configuration: URLSessionConfiguration
    private var session: URLSession?
    private var task: URLSessionDataTask?
    private var timer: Timer?

    /// The record beside the file, read each time; `nil` before the first byte. It counts the bytes that are safe and of one
    /// version, so it may be less than the length of the file: bytes of the last second before a crash are requested again.
    var saved: ResumeRecord? { ResumeRecord(contentsOf: file.appendingPathExtension("resume")) }

    init(_ url: URL, to file: URL, configuration: URLSessionConfiguration = .default) {
        self.url = url
        self.file = file
        self.configuration = configuration
    }

    /// Starts or resumes the download, as the task learns from the sink; makes no request when the file is complete.
    func start() {
        guard task == nil else { return }
        let session = session ?? URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
        self.session = session
        task = session.dataTask(with: url, writingTo: OutputStreamSink(fileAt: file))
        task?.resume()
        // The bytes go straight to the file, so the bar reads the task's count.
        timer = .scheduledTimer(withTimeInterval: 0.1, repeats: true) { _ in
            MainActor.assumeIsolated { self.showProgress() }
        }
    }

    /// Ends the download and keeps every byte received. After a crash the bytes of the last second may be missing.
    func quit() {
        guard let session else { return onEnd() }
        session.invalidateAndCancel()
    }

    private func showProgress() {
        // Before the response the task counts from 0, which would move the bar back.
        guard let task, task.response != nil else { return }
        let expected = task.countOfBytesExpectedToReceive
        onProgress(task.countOfBytesReceived, expected > 0 ? expected : nil)
    }

    // MARK: Delegate, in the order of the calls

    /// Called once, with the response. The file has not been changed yet.
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
            onMessage(status == 206 ? "resuming at byte \(dataTask.countOfBytesReceived)" : "from the beginning")
            showProgress()
            completionHandler(.allow)
        }
    }

    /// The last call about the task. The file and its record are up to date.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            showProgress()
            timer?.invalidate()
            self.task = nil
            switch (error as? URLError)?.code {
            case nil:
                // No response and no error: the file was complete, and no request was made.
                onMessage(task.response == nil ? "already complete: no request" : "finished")
                quit()
            case .cancelled: onMessage("stopped")
            default: onMessage("the connection was lost")
            }
        }
    }

    /// The last call of all: the session has released its delegate.
    nonisolated func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        MainActor.assumeIsolated { onEnd() }
    }
}
