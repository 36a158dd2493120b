import Foundation
import Purl
import Synchronization

/// One attempt at a download: a data task that writes to `FILE.part`, and its delegate.
final class DownloadAttempt: NSObject, URLSessionDataDelegate {
    /// What is known of the attempt.
    struct Report {
        /// Where the bytes are written, which the response may change.
        var destination: Destination
        /// `nil` before the response, and when no request was needed.
        var meaning: ResponseMeaning?
        /// Why the bytes cannot be saved.
        var obstacle: CommandFailure?
        var response: HTTPURLResponse?
        /// The task's error.
        var error: (any Error)?
        /// The length of `FILE.part` at the end.
        var received: Int64 = 0
    }

    private struct State {
        var report: Report
        var completion: CheckedContinuation<Report, Never>?
    }

    private let request: URLRequest
    private let url: URL
    private let usesParts: Bool
    private let reservations: PathReservations
    /// What the partial files held before the attempt.
    private let content: PartFiles.Content
    private let sink: FileHandleSink
    private let trace: Trace
    private let onAccept: @Sendable (URLSessionTask, Destination, ResponseMeaning) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - usesParts: Partial files of an earlier attempt are resumed.
    ///   - onAccept: Called when the response is the file, before its first byte is read.
    init(
        _ request: URLRequest, of url: URL, to destination: Destination, usesParts: Bool,
        reservations: PathReservations, trace: Trace,
        onAccept: @escaping @Sendable (URLSessionTask, Destination, ResponseMeaning) -> Void
    ) {
        self.request = request
        self.url = url
        self.usesParts = usesParts
        self.reservations = reservations
        self.trace = trace
        self.onAccept = onAccept
        content = destination.parts.content(for: url)
        sink = FileHandleSink(fileAt: destination.parts.bytes, recordAt: destination.parts.record)
        state = Mutex(State(report: Report(destination: destination)))
    }

    /// Runs the task to its end. Cancelling the calling task cancels it.
    func run(in session: URLSession) async -> Report {
        let task = session.dataTask(with: request, writingTo: sink)
        task.delegate = self
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.completion = continuation }
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        trace.request(task.currentRequest)
        trace.response(response)
        trace.call("willPerformHTTPRedirection", "followed")
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let disposition = disposition(of: response, dataTask)
        trace.call("didReceive response", disposition == .allow ? "allow" : "cancel")
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if task.response == nil, error != nil { trace.request(task.currentRequest) }
        trace.call("didCompleteWithError", error.map { "\(($0 as NSError).localizedDescription)" } ?? "nil")
        let (completion, report) = state.withLock { state in
            state.report.error = error
            state.report.received = task.countOfBytesReceived
            defer { state.completion = nil }
            return (state.completion, state.report)
        }
        completion?.resume(returning: report)
    }

    // MARK: The response

    private func disposition(
        of response: URLResponse, _ task: URLSessionDataTask
    ) -> URLSession.ResponseDisposition {
        guard let response = response as? HTTPURLResponse else { return .cancel }
        trace.request(task.currentRequest)
        trace.response(response)
        let meaning = ResponseMeaning(
            response, received: task.countOfBytesReceived, expected: task.countOfBytesExpectedToReceive,
            content: content)
        state.withLock { state in
            state.report.meaning = meaning
            state.report.response = response
        }
        // An error page is not read, so the partial files stay as they are.
        guard meaning.isTheFile else { return .cancel }
        do throws(CommandFailure) {
            let destination = try finalDestination(
                response.suggestedFilename, length: task.countOfBytesExpectedToReceive)
            onAccept(task, destination, meaning)
            return .allow
        } catch {
            state.withLock { $0.report.obstacle = error }
            return .cancel
        }
    }

    /// Follows the server's suggestion, if the name is not decided, before any byte is written.
    private func finalDestination(_ suggestion: String?, length: Int64) throws(CommandFailure) -> Destination {
        let old = state.withLock { $0.report.destination }
        let new = old.following(suggestion: suggestion)
        if new != old { try reservations.reserve(new, for: url) }
        try new.checkNothingIsReplaced(byBytes: length)
        guard new != old else { return old }
        try new.checkParts(for: url, usesParts: usesParts)
        do {
            try sink.move(to: new.parts.bytes, recordAt: new.parts.record)
        } catch {
            throw CommandFailure("“\(new.name).part” cannot be written: \((error as NSError).localizedDescription)")
        }
        state.withLock { $0.report.destination = new }
        return new
    }
}

/// How an attempt ended.
enum AttemptResult {
    /// Every byte is in `FILE.part`.
    case complete
    case interrupted
    /// The bytes cannot be saved.
    case refused(CommandFailure)
    case httpError(status: Int)
    /// A status below 400 whose body is not the file.
    case notTheFile(status: Int)
    case failed(any Error)

    init(_ report: DownloadAttempt.Report, isInterrupted: Bool) {
        if let obstacle = report.obstacle {
            self = .refused(obstacle)
            return
        }
        switch report.meaning {
        case .errorPage(let status): self = .httpError(status: status)
        case .notTheFile(let status): self = .notTheFile(status: status)
        case nil, .begins, .resumes, .startsOver, .isComplete:
            guard let error = report.error else {
                self = .complete
                return
            }
            self = isInterrupted ? .interrupted : .failed(error)
        }
    }

    var outcome: DownloadOutcome {
        switch self {
        case .complete: .complete(bytes: 0, new: 0)
        case .interrupted: .interrupted
        case .httpError: .httpError
        case .refused, .notTheFile, .failed: .failed
        }
    }

    /// The result as a sentence.
    var sentence: String {
        switch self {
        case .complete: "Complete."
        case .interrupted: "Interrupted."
        case .refused(let failure): failure.sentence
        case .httpError(let status): "The server answered \(Self.describe(status))."
        case .notTheFile(let status): "The server answered \(Self.describe(status)), which is not a file."
        case .failed(let error): (error as NSError).localizedDescription
        }
    }

    private static func describe(_ status: Int) -> String {
        "\(status) (\(HTTPURLResponse.localizedString(forStatusCode: status)))"
    }
}
