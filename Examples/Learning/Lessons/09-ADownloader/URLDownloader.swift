import Foundation
import Purl

/// Downloads one URL, and continues after a pause, a failure or a new launch.
///
/// Everything happens on the main queue, which is also the delegate queue of its session.
@MainActor
final class URLDownloader: NSObject {
    enum State: Equatable {
        case idle
        case downloading
        case paused
        /// It was cancelled, and its task has not made its last call.
        case ending
        case finished(URL)
        case failed(String)
    }

    let url: URL
    let place: DownloadPlace
    private(set) var state = State.idle {
        didSet { onState(state) }
    }
    private(set) var received: Int64 = 0
    private(set) var total: Int64?
    var onState: (State) -> Void = { _ in }
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }

    private let session: URLSession
    private var task: URLSessionDataTask?
    private var record: DownloadRecord?
    private var file: FileHandle?
    /// Why the task ends, if that is not for the session to say.
    private var outcome: Outcome?

    private enum Outcome {
        case cancelled
        case cleaned
        case failed(String)
    }

    /// - Parameter session: A session whose delegate queue is the main queue. Several downloaders can share it.
    init(_ url: URL, in folder: URL, session: URLSession) {
        self.url = url
        self.session = session
        place = DownloadPlace(url, in: folder)
        if case .part(let size, let record) = place.content { (received, total) = (size, record.total) }
    }

    // MARK: Control

    /// Starts or continues. Does nothing while a task is there: a second one would write into the same file.
    func start() {
        if state == .paused { return resume() }
        guard task == nil else { return }
        var request = URLRequest(url: url)
        switch place.content {
        case .finished:
            state = .finished(place.finished)
            return
        case .complete:
            return finish()
        case .part(let size, let record):
            (received, self.record) = (size, record)
            request.setValue("bytes=\(size)-", forHTTPHeaderField: "Range")
            // The server sends the rest of this version, or the whole of another one.
            request.setValue(record.tag, forHTTPHeaderField: "If-Range")
        case .nothing:
            (received, record) = (0, nil)
        }
        let task = session.dataTask(with: request)
        task.delegate = self
        self.task = task
        state = .downloading
        task.resume()
    }

    /// Stops reading. The connection stays, and so does the task.
    func pause() {
        guard state == .downloading, let task else { return }
        task.suspend()
        state = .paused
    }

    private func resume() {
        state = .downloading
        task?.resume()
    }

    /// Ends the transfer. The bytes stay for the next start.
    func cancel() { end(.cancelled) }

    /// Ends the transfer and removes its bytes.
    func cancelAndClean() {
        guard task == nil else { return end(.cleaned) }
        place.clean()
        (received, total) = (0, nil)
    }

    /// The rest happens in `didComplete`, when the task no longer writes.
    private func end(_ outcome: Outcome) {
        guard let task, self.outcome == nil else { return }
        self.outcome = outcome
        state = .ending
        task.cancel()
    }

    private func finish() {
        do {
            try place.finish()
            state = .finished(place.finished)
        } catch {
            state = .failed(error.localizedDescription)
        }
    }
}

/// The delegate methods, in the order of the calls.
extension URLDownloader: URLSessionDataDelegate {
    nonisolated func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        MainActor.assumeIsolated {
            do {
                try open(for: response)
                completionHandler(outcome == nil ? .allow : .cancel)
            } catch {
                outcome = .failed(error.localizedDescription)
                completionHandler(.cancel)
            }
        }
    }

    /// Opens the file for the bytes that follow, or sets the outcome.
    private func open(for response: URLResponse) throws {
        guard let response = response as? HTTPURLResponse else { return }
        switch DownloadAnswer(response, size: received, record: record) {
        case .rest:
            total = record?.total
        case .whole(let total, let record):
            try place.begin(record)
            (received, self.total, self.record) = (0, total, record)
        case .unusable:
            // Not started again here: this task is not over yet.
            place.clean()
            outcome = .failed("the bytes on disk are of no use")
            return
        case .refused(let status):
            outcome = .failed("the server answered \(status)")
            return
        }
        file = try FileHandle(forWritingTo: place.partial)
        try file?.seekToEnd()
        onProgress(received, total)
    }

    nonisolated func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        MainActor.assumeIsolated {
            guard outcome == nil else { return }
            do {
                try file?.write(contentsOf: data)
                received += Int64(data.count)
                onProgress(received, total)
            } catch {
                end(.failed(error.localizedDescription))
            }
        }
    }

    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            try? file?.close()
            let outcome = outcome
            (file, self.task, self.outcome) = (nil, nil, nil)
            switch outcome {
            case .cancelled:
                state = .idle
            case .cleaned:
                cancelAndClean()
                state = .idle
            case .failed(let reason):
                state = .failed(reason)
            case nil:
                if let error { state = .failed(error.localizedDescription) } else { finish() }
            }
        }
    }
}
