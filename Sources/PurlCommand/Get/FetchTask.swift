import Foundation
import Purl
import PurlDownloads
import Synchronization

/// One attempt at a download: a data task that writes to `FILE.part` or to a stream, and its delegate.
final class FetchTask: NSObject, URLSessionDataDelegate {
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
        /// The length of `FILE.part` at the end, or how many bytes went into the stream.
        var received: Int64 = 0
        /// Whether a redirect would have left TLS, and was not followed since the record would not have told.
        var needsMark = false
        /// Whether the record says that the bytes were not checked.
        var isMarked = false
        /// Whether a part of the file is missing that has to be requested by another task.
        var needsAnother = false
        /// How many bytes are there, in a file that several connections have filled.
        var presentCount: Int64?
        /// What is known of the pieces of the complete file.
        var pieces = CheckedPieces.none
        /// The SHA-256 of the file that the server has sent.
        var serverChecksum: Checksum?
        /// Whether several servers have been asked for parts.
        var isMixed = false
        /// The length of the server's file, where the list of pieces is about one of another length.
        var unlistedLength: Int64?
        /// The URL of the request, or of the last redirect.
        fileprivate var planned: URL?
        fileprivate var metrics: URLSessionTaskMetrics?
    }

    /// Where the bytes go.
    enum Output {
        case file(FileHandleSink)
        case stream(StreamSink)

        /// The stream that takes the bytes, if it is one.
        var stream: StreamSink? {
            switch self {
            case .file: nil
            case .stream(let sink): sink
            }
        }
    }

    /// How the bytes are fetched and proved.
    struct Connections {
        let count: ConnectionCount
        let experience: ParallelTransfer.Experience
        var mirrors: [ParallelTransfer.Mirror] = []
        var checking = PieceChecking.found
        /// What becomes of content codings.
        var content = CodedContent.asSent
        var onEvent: @Sendable (ParallelTransfer.Event) -> Void = { _ in }
    }

    private let request: URLRequest
    private let download: DownloadRequest
    /// The recorded URLs of bytes that may be replaced.
    private let sources: [URL]
    private let reservations: PathReservations
    /// What the partial files held before the attempt.
    private let content: PartFiles.Content
    private let output: Output
    private let trace: VerboseLog
    /// Why a redirect is not followed; `nil` where it is.
    private let refusal: @Sendable (URLRequest) -> CommandFailure?
    private let checkConditions: @Sendable (Destination, Int64) throws(CommandFailure) -> Void
    private let onAccept: @Sendable (URLSessionTask, Destination, ResponseMeaning, RangedFile?) -> Void
    private let report: PendingReport<Report>
    private let connections: Connections
    /// The file that takes the bytes, and the connections beside this task.
    private let transfer = Mutex<(file: RangedFile, connections: ParallelTransfer)?>(nil)
    /// How many bytes there were before the first one of this task.
    private let presentCount = Mutex<Int64>(0)

    /// - Parameters:
    ///   - request: The request for ``DownloadRequest/url`` or one of its mirrors.
    ///   - sources: The recorded URLs of bytes that may be replaced.
    ///   - output: Takes the bytes. A file is locked already.
    ///   - refusal: Why a redirect to a request is not followed; `nil` where it is.
    ///   - checkConditions: Throws when a file of this name and length, which is negative where it is unknown, is refused.
    ///   - onAccept: Called when the response is the file, before its first byte is read.
    init(
        _ request: URLRequest, of download: DownloadRequest, sources: [URL], to destination: Destination,
        _ output: Output, _ connections: Connections,
        reservations: PathReservations, trace: VerboseLog,
        refusal: @escaping @Sendable (URLRequest) -> CommandFailure?,
        checkConditions: @escaping @Sendable (Destination, Int64) throws(CommandFailure) -> Void,
        onAccept: @escaping @Sendable (URLSessionTask, Destination, ResponseMeaning, RangedFile?) -> Void
    ) {
        self.request = request
        self.download = download
        self.sources = sources
        self.reservations = reservations
        self.trace = trace
        self.onAccept = onAccept
        self.output = output
        self.connections = connections
        self.refusal = refusal
        self.checkConditions = checkConditions
        content = destination.parts?.content(for: [request.url].compactMap(\.self)) ?? .nothing
        report = PendingReport(Report(destination: destination, planned: request.url))
    }

    /// Runs the task to its end. Cancelling the calling task cancels it.
    func run(in session: URLSession) async -> Report {
        let task: URLSessionDataTask
        switch output {
        case .file(let sink):
            let file = RangedFile(sink, checking: connections.checking)
            let parallel = ParallelTransfer(
                file, connections.count, session: session, connections.experience, mirrors: connections.mirrors,
                onExchange: { [trace] in trace.over(connection: $0).event($2, of: $1) }, onEvent: connections.onEvent)
            transfer.withLock { $0 = (file, parallel) }
            task = session.dataTask(with: request, writingTo: file)
        case .stream(let sink): task = session.dataTask(with: request, writingTo: sink)
        }
        task.delegate = self
        return await withTaskCancellationHandler {
            await report.wait { task.resume() }
        } onCancel: {
            task.cancel()
            transfer.withLock { $0?.connections }?.stop()
            if case .stream(let sink) = output { sink.cancel() }
        }
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        traceUpgrade(of: task)
        if needsMark(response, for: request) {
            trace.redirectToMark(response, of: task)
            report.update { $0.needsMark = true }
            return completionHandler(nil)
        }
        trace.redirect(response, of: task, to: request)
        if let refusal = refusal(request) {
            report.update { $0.obstacle = refusal }
            return completionHandler(nil)
        }
        report.update { $0.planned = request.url }
        completionHandler(request)
    }

    /// Whether a redirect leaves TLS, so that the record has to say that the bytes are not checked, and does not yet.
    private func needsMark(_ response: HTTPURLResponse, for next: URLRequest) -> Bool {
        guard case .file = output, response.leavesTLS(for: next), refusal(next) == nil else { return false }
        return request.url.map(UncheckedBytes.isMarked) == false
    }

    private func traceUpgrade(of task: URLSessionTask) {
        trace.upgrade(from: report.update { $0.planned }, of: task)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard !report.update({ $0.needsMark }) else { return completionHandler(.cancel) }
        let disposition = disposition(of: response, dataTask)
        trace.call("didReceive response", disposition == .allow ? "allow" : "cancel")
        completionHandler(disposition)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        report.update { $0.metrics = metrics }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (needsMark, metrics) = report.update { ($0.needsMark, $0.metrics) }
        if !needsMark { trace.completion(of: task, error, metrics) }
        guard let (file, connections) = transfer.withLock({ $0 }) else {
            return report.end { report in
                report.error = error
                report.received = task.countOfBytesReceived
            }
        }
        connections.leaderEnded(error) { [self] end in
            report.end { report in
                report.received = file.isRanged ? file.presentCount : task.countOfBytesReceived
                if file.isRanged { report.presentCount = file.presentCount }
                report.pieces = file.checkedPieces
                report.isMixed = connections.isMixed
                switch end {
                case .leader(let error): report.error = error
                case .complete: report.received = file.presentCount
                case .failed(let error, let response):
                    report.error = error is URLError ? error : unwritten(error, report.destination)
                    guard let response else { return }
                    report.response = response
                    report.meaning = .errorPage(status: response.statusCode)
                case .again(let error, let response):
                    let hasProgress = file.presentCount > presentCount.withLock { $0 }
                    report.needsAnother = self.connections.experience.allowsLeader(hasProgress: hasProgress)
                    report.error = error ?? URLError(.networkConnectionLost)
                    guard !report.needsAnother, let response else { return }
                    report.response = response
                    report.meaning = .errorPage(status: response.statusCode)
                }
            }
        }
    }

    // MARK: The response

    private func disposition(
        of response: URLResponse, _ task: URLSessionDataTask
    ) -> URLSession.ResponseDisposition {
        guard let response = response as? HTTPURLResponse else {
            let scheme = response.url?.scheme ?? "other"
            report.update {
                $0.obstacle = CommandFailure("purl saves what HTTP servers send, not \(scheme): URLs.")
            }
            return .cancel
        }
        traceUpgrade(of: task)
        trace.request(task.sentRequest)
        trace.response(response)
        let (file, parallel) = transfer.withLock { ($0?.file, $0?.connections) }
        // Several connections have left more than what this task continues.
        let present = response.statusCode == 206 ? file.map(\.presentCount) : nil
        var meaning = ResponseMeaning(
            response, received: max(present ?? 0, task.countOfBytesReceived),
            expected: task.countOfBytesExpectedToReceive, content: content)
        report.update { report in
            if response.statusCode == 304, report.destination.isUpdate { meaning = .isUpToDate }
            report.meaning = meaning
            report.response = response
            guard meaning.isTheFile else { return }
            report.serverChecksum = response.fileSHA256(connections.content).flatMap { Checksum($0) }
        }
        // A 304 has no body.
        if meaning == .isUpToDate { return .allow }
        // An error page is not read, so the partial files stay as they are.
        guard meaning.isTheFile else { return .cancel }
        let length = task.countOfBytesExpectedToReceive
        if case .listed(let list) = connections.checking, length >= 0, !list.fits(length: length) {
            report.update { $0.unlistedLength = length }
            return .cancel
        }
        do throws(CommandFailure) {
            let destination = try finalDestination(
                FileName.offered(by: response), length: task.countOfBytesExpectedToReceive)
            onAccept(task, destination, meaning, file)
            presentCount.withLock { $0 = present ?? 0 }
            parallel?.begin(task, response)
            return .allow
        } catch {
            report.update { $0.obstacle = error }
            return .cancel
        }
    }

    /// Follows the server's suggestion, if the name is not decided, before any byte is written.
    private func finalDestination(_ suggestion: String?, length: Int64) throws(CommandFailure) -> Destination {
        let old = report.update { $0.destination }
        let new = old.following(suggestion: suggestion)
        try checkConditions(new, length)
        if new != old { try reservations.reserve(new, for: download.url) }
        try new.checkNothingIsReplaced(byBytes: length)
        if new.mayReplace { try new.parts?.setRecordOfFileAside() }
        guard new != old, let parts = new.parts, case .file(let sink) = output else { return old }
        try new.vacate(parts, for: sources)
        do {
            try sink.move(toFree: parts.bytes, recordAt: parts.record)
        } catch {
            // Another command has been faster.
            if (error as NSError).code == EEXIST { throw new.busy(parts) }
            throw CommandFailure(unwritten(error, new).failureSentence)
        }
        report.update { $0.destination = new }
        return new
    }

    /// The failure where the system refuses a change of the partial file.
    private func unwritten(_ error: any Error, _ destination: Destination) -> URLError {
        let sentence = "“\(destination.name).part” cannot be written: \(error.reason)"
        return URLError(.cannotWriteToFile, reason: sentence, userInfo: [NSUnderlyingErrorKey: error.asUnderlying])
    }
}

/// How an attempt ended.
enum AttemptResult {
    /// Every byte is in `FILE.part`.
    case complete
    /// The server has no newer version than the file.
    case upToDate
    case interrupted
    /// The bytes cannot be saved.
    case refused(CommandFailure)
    /// `FILE.part` was removed, moved or replaced while it was written.
    case displaced(CommandFailure)
    case httpError(status: Int)
    /// The list of pieces is about a file of another length.
    case unlisted(length: Int64)
    /// A status below 400 whose body is not the file.
    case notTheFile(status: Int)
    case failed(any Error)

    init(_ report: FetchTask.Report, isInterrupted: Bool) {
        if let obstacle = report.obstacle {
            self = .refused(obstacle)
            return
        }
        if let length = report.unlistedLength {
            self = .unlisted(length: length)
            return
        }
        switch report.meaning {
        case .isUpToDate where report.error == nil: self = .upToDate
        case .errorPage(let status): self = .httpError(status: status)
        case .notTheFile(let status): self = .notTheFile(status: status)
        case nil, .begins, .resumes, .startsOver, .isComplete, .isUpToDate:
            guard let error = report.error else {
                self = .complete
                return
            }
            if let limit = (error as NSError).userInfo[NSUnderlyingErrorKey] as? LengthLimitPassed {
                self = .refused(.tooLong(report.destination.name, limit.maximum))
                return
            }
            self = isInterrupted ? .interrupted : .failed(error)
        }
    }

    /// Whether another server may do better.
    var isOfServer: Bool {
        switch self {
        case .complete, .upToDate, .interrupted, .refused, .displaced: false
        case .httpError, .unlisted, .notTheFile: true
        case .failed(let error): !Self.isOfFile(error)
        }
    }

    /// Whether what is on this machine has failed.
    private static func isOfFile(_ error: any Error) -> Bool {
        let codes: Set<URLError.Code> = [.cannotCreateFile, .cannotOpenFile, .cannotWriteToFile, .cannotMoveFile]
        return (error as? URLError).map { codes.contains($0.code) } ?? true
    }

    var outcome: DownloadOutcome {
        switch self {
        case .complete, .upToDate: .complete(bytes: 0, new: 0)
        case .interrupted: .interrupted
        case .httpError: .httpError
        case .refused, .displaced, .unlisted, .notTheFile, .failed: .failed
        }
    }

    /// The result as a sentence.
    var sentence: String {
        switch self {
        case .complete: "Complete."
        case .upToDate: "Up to date."
        case .interrupted: "Interrupted."
        case .refused(let failure), .displaced(let failure): failure.sentence
        case .httpError(let status): "The server answered \(Self.describe(status))."
        case .unlisted(let length): "The server's file has \(length) bytes, which the list of pieces is not about."
        case .notTheFile(let status): "The server answered \(Self.describe(status)), which is not a file."
        case .failed(let error): error.sentenceWithAdvice
        }
    }

    private static func describe(_ status: Int) -> String {
        "\(status) (\(HTTPURLResponse.localizedString(forStatusCode: status)))"
    }
}

extension CommandFailure {
    /// A file of more bytes than are wanted, or of an unknown number of them.
    static func tooLong(_ name: String, _ maximum: Int64, length: Int64? = nil) -> CommandFailure {
        let limit = ByteText.count(maximum)
        guard let length else { return CommandFailure("“\(name)” is longer than --max-filesize allows (\(limit)).") }
        return CommandFailure("“\(name)” has \(ByteText.count(length)), more than --max-filesize allows (\(limit)).")
    }
}
