import Foundation
import Purl
import Synchronization

/// Follows one data task that writes to a sink: decides about its response, and hears how it ends.
final class GetDelegate: NSObject, URLSessionDataDelegate {
    /// What has been decided so far.
    struct Report {
        /// Where the bytes go by now.
        var destination: Destination
        /// What the response meant; `nil` before it, and when no request was needed.
        var reception: Reception?
        /// Why the bytes cannot be saved.
        var obstacle: CommandFailure?
        /// What the server answered.
        var response: HTTPURLResponse?
        /// How the task ended.
        var error: (any Error)?
    }

    private struct State {
        var report: Report
        var completion: CheckedContinuation<Report, Never>?
    }

    private let url: URL
    private let usesParts: Bool
    private let claims: Claims
    private let content: PartFiles.Content
    private let sink: FileHandleSink
    private let trace: Trace
    private let accepted: @Sendable (URLSessionTask, Destination, Reception) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - usesParts: Parts of an earlier attempt are gone on with.
    ///   - claims: Which names are taken.
    ///   - content: What lay in the parts before.
    ///   - accepted: Called when the response is the file, before its first byte is read.
    init(
        _ url: URL, _ destination: Destination, usesParts: Bool, claims: Claims, content: PartFiles.Content,
        sink: FileHandleSink, trace: Trace,
        accepted: @escaping @Sendable (URLSessionTask, Destination, Reception) -> Void
    ) {
        self.url = url
        self.usesParts = usesParts
        self.claims = claims
        self.content = content
        self.sink = sink
        self.trace = trace
        self.accepted = accepted
        state = Mutex(State(report: Report(destination: destination)))
    }

    /// Starts the task and returns when it is over. It is cancelled with the calling task.
    func run(_ task: URLSessionTask) async -> Report {
        await withTaskCancellationHandler {
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
        let disposition = decide(dataTask, response)
        trace.call("didReceive response", disposition == .allow ? "allow" : "cancel")
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if task.response == nil, error != nil { trace.request(task.currentRequest) }
        trace.call("didCompleteWithError", error.map { "\(($0 as NSError).localizedDescription)" } ?? "nil")
        let (completion, report) = state.withLock { state in
            state.report.error = error
            defer { state.completion = nil }
            return (state.completion, state.report)
        }
        completion?.resume(returning: report)
    }

    // MARK: Deciding

    private func decide(_ task: URLSessionDataTask, _ response: URLResponse) -> URLSession.ResponseDisposition {
        guard let response = response as? HTTPURLResponse else { return .cancel }
        trace.request(task.currentRequest)
        trace.response(response)
        let reception = Reception(
            response, received: task.countOfBytesReceived, expected: task.countOfBytesExpectedToReceive,
            content: content)
        state.withLock { state in
            state.report.reception = reception
            state.report.response = response
        }
        // The body of an error page is of no use, and the parts are not touched.
        guard reception.isTheFile else { return .cancel }
        do throws(CommandFailure) {
            let destination = try settleName(response.suggestedFilename, length: task.countOfBytesExpectedToReceive)
            accepted(task, destination, reception)
            return .allow
        } catch {
            state.withLock { $0.report.obstacle = error }
            return .cancel
        }
    }

    /// Follows the server's suggestion, if it may decide, before any byte is written.
    private func settleName(_ suggestion: String?, length: Int64) throws(CommandFailure) -> Destination {
        let old = state.withLock { $0.report.destination }
        let new = old.following(suggestion: suggestion)
        if new != old { try claims.claim(new, for: url) }
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
