import Foundation
import Purl

/// The same with a task that writes to a sink: without `Range`, record or special cases in the program.
///
/// The task reads from the sink what is on disk, requests the rest of that version, starts over when the version has changed,
/// keeps the file locked and the record up to date, and writes off the main queue.
@MainActor
final class SinkDownload: NSObject, URLSessionDataDelegate, Download {
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    var onMessage: (String) -> Void = { _ in }
    var onEnd: () -> Void = {}

    private let url: URL
    private let file: URL
    /// The bytes on disk, according to the record that the sink keeps beside the file.
    var size: Int64 { record?.bytesReceived ?? 0 }
    var total: Int64? { record?.totalBytes }
    private var record: ResumeRecord? { ResumeRecord(contentsOf: file.appendingPathExtension("resume")) }

    private var session: URLSession?
    private var task: URLSessionDataTask?
    private var timer: Timer?

    init(_ url: URL, to file: URL) {
        self.url = url
        self.file = file
    }

    func start() {
        guard task == nil else { return }
        let session = session ?? URLSession(configuration: .default, delegate: self, delegateQueue: .main)
        self.session = session
        task = session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
        task?.resume()
        // The bytes go straight to the file, so the bar reads the task's count ten times a second.
        timer = .scheduledTimer(withTimeInterval: 0.1, repeats: true) { _ in
            MainActor.assumeIsolated { self.showProgress() }
        }
    }

    func suspend() {
        guard let task, task.state == .running else { return }
        task.suspend()
        onMessage("suspended")
    }

    func resume() {
        guard let task, task.state == .suspended else { return }
        task.resume()
        onMessage("resumed")
    }

    func cancel() { task?.cancel() }

    func close() {
        guard let session else { return onEnd() }
        session.invalidateAndCancel()
    }

    private func showProgress() {
        guard let task, task.response != nil else { return }
        let expected = task.countOfBytesExpectedToReceive
        onProgress(task.countOfBytesReceived, expected > 0 ? expected : nil)
    }

    // MARK: Delegate

    /// Only shows where the task resumes: its counts start at the bytes on disk. Not called when the file is complete.
    nonisolated func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        MainActor.assumeIsolated {
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            onMessage("\(status), from byte \(dataTask.countOfBytesReceived)")
            showProgress()
            completionHandler(.allow)
        }
    }

    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            showProgress()
            timer?.invalidate()
            self.task = nil
            switch (error as? URLError)?.code {
            case nil:
                onMessage(task.response == nil ? "already complete: no request" : "finished")
                close()
            case .cancelled: onMessage("stopped")
            default: onMessage("the connection was lost")
            }
        }
    }

    nonisolated func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            self.session = nil
            onMessage("session closed")
            onEnd()
        }
    }
}
