import Foundation
import Purl

/// One attempt at an upload: an upload task and its delegate.
final class SendTask: NSObject, URLSessionDataDelegate {
    /// How an attempt begins.
    enum Source {
        case file(URLRequest, URL)
        case resumeData(Data)
    }

    /// What is known of the attempt at its end.
    struct Report {
        /// The task's, or the last one before it failed. If its status is a success, its body has gone to the output.
        var response: HTTPURLResponse?
        /// The beginning of the body of another response.
        var explanation = Data()
        var error: (any Error)?
        /// Why a redirect was not followed.
        var refusal: CommandFailure?
        /// Where the attempt began; `nil` before a byte was sent.
        var start: Int64?
        /// How many bytes have been sent, those of earlier attempts included.
        var sent: Int64 = 0
        /// The redirect that was the answer to what was sent: it names a page about it (RFC 9110 §15.4.4).
        var redirectToPage: HTTPURLResponse?
        var resumeData: Data?
        /// What it took to resume the upload when that last changed; at first, what the attempt began with.
        var recorded: Data?
        /// Whether the last request appended to the upload.
        var hasAppended = false
        /// Whether the server has offered to resume the upload, in this attempt or an earlier one.
        var wasOffered = false
        /// The URL of the request, or of the last redirect.
        fileprivate var planned: URL?
        fileprivate var metrics: URLSessionTaskMetrics?

        /// Whether the server has taken the content. A redirection that leads nowhere and a 304 do not say that.
        var isAccepted: Bool { error == nil && hasSuccess }

        fileprivate var hasSuccess: Bool { response.map { 200..<300 ~= $0.statusCode } ?? false }

        /// Whether a failed attempt leaves the server with what it had: it was not reached, is busy, or asks for other
        /// credentials.
        var leavesUploadAlone: Bool {
            guard let response else { return error != nil }
            switch response.statusCode {
            case 401, 403, 407, 408, 421, 425, 429: return true
            // As a response without an error it may be to all of the content.
            case 500...: return error != nil || (hasAppended && !isComplete(response))
            default: return false
            }
        }

        private func isComplete(_ response: HTTPURLResponse) -> Bool {
            response.value(forHTTPHeaderField: "Upload-Complete")?.hasPrefix("?1") == true
        }

        /// Whether the server, or a proxy, has refused the command's credentials.
        var isDenied: Bool {
            response.map { [401, 403, 407].contains($0.statusCode) } ?? false
        }
    }

    private static let longestExplanation = 2000

    private let source: Source
    private let trace: VerboseLog
    private let onStart: @Sendable (URLSessionTask, _ offset: Int64) -> Void
    private let onRestart: @Sendable (any Error) -> Void
    private let onInterruption: @Sendable (any Error) -> Void
    private let onRecord: @Sendable (Data?) -> Void
    private let onRedirectToPage: @Sendable () -> Void
    private let onBody: @Sendable (Data) -> Void
    private let report: PendingReport<Report>

    /// - Parameters:
    ///   - onStart: Called with the first bytes that are sent, and where in the file they are.
    ///   - onRestart: Called when the upload starts over because the file has changed.
    ///   - onInterruption: Called with each failure after which the upload resumes by itself.
    ///   - onRecord: Called with what it takes to resume the upload, whenever that changes while it runs; with `nil` when it
    ///     cannot be resumed any more.
    ///   - onRedirectToPage: Called when nothing more is sent, since a page tells what has become of it.
    ///   - onBody: Called with the response's body.
    init(
        _ source: Source, for url: URL, trace: VerboseLog,
        onStart: @escaping @Sendable (URLSessionTask, _ offset: Int64) -> Void,
        onRestart: @escaping @Sendable (any Error) -> Void,
        onInterruption: @escaping @Sendable (any Error) -> Void = { _ in },
        onRecord: @escaping @Sendable (Data?) -> Void,
        onRedirectToPage: @escaping @Sendable () -> Void = {},
        onBody: @escaping @Sendable (Data) -> Void
    ) {
        self.source = source
        self.trace = trace
        self.onStart = onStart
        self.onRestart = onRestart
        self.onInterruption = onInterruption
        self.onRecord = onRecord
        self.onRedirectToPage = onRedirectToPage
        self.onBody = onBody
        var report = Report(planned: url)
        if case .resumeData(let data) = source {
            report.wasOffered = true
            report.recorded = data
        }
        self.report = PendingReport(report)
    }

    /// Runs the task to its end. Cancelling the calling task cancels it, with resume data if there can be any.
    func run(in session: URLSession) async -> Report {
        let task: URLSessionUploadTask =
            switch source {
            case .file(let request, let file): session.uploadTask(with: request, fromFile: file)
            case .resumeData(let data): session.uploadTask(withResumeData: data)
            }
        task.delegate = self
        task.observeResumeData { [self] data in
            report.update { $0.recorded = data }
            onRecord(data)
        }
        task.observeInterruptions { [self] error in
            trace.note("interrupted, and resumed: \(error.failureSentence)")
            onInterruption(error)
        }
        return await withTaskCancellationHandler {
            await report.wait { task.resume() }
        } onCancel: {
            // The handler runs before the task completes.
            task.cancel { data in self.report.update { $0.resumeData = data } }
        }
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The file, and the fields of the user's own, are not sent in the open.
        guard !response.leavesTLS(for: request) else {
            trace.call("willPerformHTTPRedirection", "refused")
            report.update { $0.refusal = .leavesTLS(to: request) }
            return completionHandler(nil)
        }
        traceUpgrade(of: task)
        trace.redirect(response, of: task, to: request)
        let isToPage = request.httpMethod == "GET"
        report.update { report in
            report.planned = request.url
            guard isToPage, report.redirectToPage == nil else { return }
            report.redirectToPage = response
            report.sent = task.countOfBytesSent
        }
        if isToPage { onRedirectToPage() }
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        trace.response(response)
        guard response.statusCode == 104, response.value(forHTTPHeaderField: "Location") != nil else { return }
        report.update { $0.wasOffered = true }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let start = totalBytesSent - bytesSent
        let isFirst = report.update { report in
            defer { report.start = report.start ?? start }
            return report.start == nil
        }
        if isFirst { onStart(task, start) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, willRestartUploadBecause reason: any Error) {
        trace.call("willRestartUploadBecause", reason.failureSentence)
        onRestart(reason)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        traceUpgrade(of: dataTask)
        trace.request(dataTask.sentRequest)
        if let response = response as? HTTPURLResponse {
            trace.response(response)
            report.update { $0.response = response }
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isSuccess = report.update { report in
            if report.hasSuccess { return true }
            report.explanation += data.prefix(max(0, Self.longestExplanation - report.explanation.count))
            return false
        }
        if isSuccess { onBody(data) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        // A response to a question about the upload is not the task's.
        let last = metrics.transactionMetrics.last?.response as? HTTPURLResponse
        report.update { report in
            report.metrics = metrics
            report.response = report.response ?? last
        }
    }

    private func traceUpgrade(of task: URLSessionTask) {
        trace.upgrade(from: report.update { $0.planned }, of: task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        trace.completion(of: task, error, report.update { $0.metrics })
        report.end { report in
            report.error = error
            // The request for the page sends nothing.
            if report.redirectToPage == nil { report.sent = task.countOfBytesSent }
            report.hasAppended = task.currentRequest?.httpMethod == "PATCH"
            report.resumeData = report.resumeData ?? (error as? URLError)?.uploadTaskResumeData
        }
    }
}
