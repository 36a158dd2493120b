import Foundation
import Purl

/// A download that tries again where that may help, and continues with the bytes that it has.
///
/// Everything runs on the main queue, where the session calls its delegate.
@MainActor
final class StubbornDownload: NSObject {
    var onMessage: (String) -> Void = { _ in }
    /// Called once, when the download is over: whether the file is in its place.
    var onEnd: (_ isSaved: Bool) -> Void = { _ in }

    private let url: URL
    private let place: URL
    private let clock: any Clock<Duration>
    private let configuration: URLSessionConfiguration
    private lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: .main)

    private var task: URLSessionDownloadTask?
    /// What the next task needs to continue.
    private var resumeData: Data?
    /// Runs between two tasks.
    private var pause: Task<Void, Never>?
    /// How many tasks in a row have failed without a single byte.
    private var failures = 0
    private var outcome = Outcome.unknown

    /// What `didFinishDownloadingTo` has found.
    private enum Outcome {
        case unknown
        case saved
        case failed(FailureKind, String)
    }

    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    /// - Parameters:
    ///   - url: What is downloaded.
    ///   - place: Where the complete file is moved to.
    ///   - clock: Measures the pauses between two tasks.
    ///   - configuration: The session's.
    init(
        _ url: URL, to place: URL, clock: any Clock<Duration> = ContinuousClock(),
        configuration: URLSessionConfiguration = .default
    ) {
        self.url = url
        self.place = place
        self.clock = clock
        self.configuration = configuration
    }

    func start() {
        guard task == nil, pause == nil else { return }
        nextTask()
    }

    /// Ends the download, whether a task runs or a pause.
    func cancel() {
        if let task {
            task.cancel()
        } else if let pause {
            pause.cancel()
            end("cancelled", isSaved: false)
        }
    }

    private func nextTask() {
        pause = nil
        outcome = .unknown
        task =
            if let resumeData {
                session.downloadTask(withResumeData: resumeData)
            } else {
                session.downloadTask(with: url)
            }
        resumeData = nil
        task?.resume()
    }

    /// Decides what follows a failure.
    private func didFail(_ kind: FailureKind, _ reason: String) {
        guard kind == .temporary, failures < Self.pauses.count else { return end(reason, isSaved: false) }
        let delay = Self.pauses[failures]
        failures += 1
        let sleep = clock.sleeper(for: delay)
        pause = Task {
            // Cancelled in the pause, it throws: then there is no next task.
            guard (try? await sleep()) != nil else { return }
            nextTask()
        }
        onMessage("\(reason) Trying again in \(delay.components.seconds) s.")
    }

    private func end(_ message: String, isSaved: Bool) {
        pause = nil
        session.finishTasksAndInvalidate()
        onMessage(message)
        onEnd(isSaved)
    }
}

extension StubbornDownload: URLSessionDownloadDelegate {
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        MainActor.assumeIsolated { onMessage("continuing at byte \(fileOffset) of \(expectedTotalBytes)") }
    }

    /// Bytes have arrived, so the network is there: the next failure is the first one again.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        MainActor.assumeIsolated { failures = 0 }
    }

    /// There is a file. Whether it is the one that was asked for, only the status tells.
    nonisolated func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        MainActor.assumeIsolated {
            let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 200
            if let kind = FailureKind(status: status) {
                outcome = .failed(kind, "The server has answered with \(status).")
                return
            }
            do {
                try FileManager.default.moveItem(at: location, to: place)
                outcome = .saved
            } catch {
                outcome = .failed(.permanent, error.localizedDescription)
            }
        }
    }

    /// The last call: it decides.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            self.task = nil
            if let error {
                resumeData = (error as? URLError)?.userInfo[NSURLSessionDownloadTaskResumeData] as? Data
                return didFail(FailureKind(error), error.localizedDescription)
            }
            switch outcome {
            case .saved: end("saved", isSaved: true)
            case .failed(let kind, let reason): didFail(kind, reason)
            case .unknown: didFail(.permanent, "There is no file.")
            }
        }
    }
}

extension Clock where Duration == Swift.Duration {
    /// Sleeps for some time from now: the end is computed at once, since a task may begin a little later.
    fileprivate func sleeper(for delay: Duration) -> @Sendable () async throws -> Void {
        let end = now.advanced(by: delay)
        return { try await sleep(until: end, tolerance: nil) }
    }
}
