import Foundation
import Purl

/// A first attempt at a button that starts, pauses and resumes a download. Do not copy this: it trusts the user to be slow.
@MainActor
final class HastyButton: NSObject, URLSessionDownloadDelegate {
    private let url: URL
    private let configuration: URLSessionConfiguration
    private let onEnd: (_ task: Int, _ message: String) -> Void
    private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
    private var task: URLSessionDownloadTask?
    private var resumeData: Data?

    init(
        url: URL, configuration: URLSessionConfiguration, onEnd: @escaping (_ task: Int, _ message: String) -> Void
    ) {
        self.url = url
        self.configuration = configuration
        self.onEnd = onEnd
    }

    func press() {
        if let task {
            self.task = nil
            task.cancel(byProducingResumeData: { data in
                MainActor.assumeIsolated { self.resumeData = data }
            })
        } else if let resumeData {
            self.resumeData = nil
            task = session.downloadTask(withResumeData: resumeData)
            task?.resume()
        } else {
            task = session.downloadTask(with: url)
            task?.resume()
        }
    }

    func close() {
        session.invalidateAndCancel()
    }

    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}

    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            onEnd(task.taskIdentifier, error == nil ? "complete" : "paused")
        }
    }
}
