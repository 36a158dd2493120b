import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// Every question and every report of one transfer to its user, in the order in which they are made.
///
/// All of them run on the session's delegate queue. A question is answered once, however often the user answers it, and
/// its answer arrives on the network thread. The task changes when another one takes its place.
@NetworkActor
final class DelegateCalls: TrustDelegates {
    typealias ChallengeAnswer =
        @Sendable @NetworkActor (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    let session: URLSession
    /// The task that users know the transfer by.
    private(set) var task: URLSessionTask
    /// Records the transfer, if anything does.
    private(set) var trace: TaskTrace?
    /// The requests so far; `nil` while there is no delegate that could receive them.
    private var metrics: TaskMetricsCollector?
    private var redirectsFollowed = 0
    private lazy var bytesSent = ByteReport()
    private lazy var bytesWritten = ByteReport()

    init(_ task: URLSessionTask, _ session: URLSession) {
        self.task = task
        self.session = session
        trace = task.taskTrace
    }

    /// Puts a call into the delegate queue.
    ///
    /// - Parameter arguments: What a trace shows of the call's arguments.
    private func enqueue(
        _ method: TransferTrace.DelegateMethod, _ arguments: @autoclosure () -> TransferTrace.Arguments? = nil,
        _ call: @escaping DelegateQueue.Call
    ) {
        if let trace { return session.queue.enqueue(trace.tracing(method, arguments(), call)) }
        session.queue.enqueue(call)
    }

    /// Takes the first answer to a question, and ignores others.
    private func single<Answer>(
        _ method: TransferTrace.DelegateMethod, _ answer: @escaping @Sendable @NetworkActor (Answer) -> Void
    ) -> SingleAnswer<Answer> {
        if let trace { return SingleAnswer(trace.tracingAnswer(of: method, answer)) }
        return SingleAnswer(answer)
    }

    // MARK: Which delegates there are

    /// Whether a delegate can be asked about requests.
    var hasTaskDelegate: Bool { task.taskDelegate != nil }

    /// Whether a delegate can be asked about the response of a data task.
    var hasDataDelegate: Bool { task.dataDelegate != nil }

    /// Whether a delegate receives how much is sent and written: the task has no handler, or an `async` method has made it.
    private var reportsProgress: Bool {
        switch task.consumer {
        case .delegate: true
        case .data(_, .inline), .file(_, .inline), .bytes: task.delegate != nil
        case .data(_, .queue), .file(_, .queue): false
        }
    }

    /// The task as a download: it became one, or is one from the start.
    var downloadTask: URLSessionDownloadTask? { task as? URLSessionDownloadTask }

    var canAskAboutTrust: Bool { session.delegate != nil || hasTaskDelegate }

    var delegateOfTask: (any AnyObject & Sendable)? { task.taskDelegate }

    // MARK: Questions

    func askAboutRedirect(
        _ response: HTTPURLResponse, _ next: URLRequest,
        answer: @escaping @Sendable @NetworkActor (URLRequest?) -> Void
    ) {
        let once = single(.willPerformHTTPRedirection, answer)
        enqueue(.willPerformHTTPRedirection, .redirect(response, to: next.url)) { [task, session] in
            guard let delegate = task.taskDelegate else { return once.give(next) }
            delegate.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: next,
                completionHandler: { once.give($0) })
        }
    }

    /// Counts a redirect that was followed, for the metrics.
    func countRedirect() {
        redirectsFollowed += 1
    }

    func askAboutResponse(
        _ response: URLResponse,
        answer: @escaping @Sendable @NetworkActor (URLSession.ResponseDisposition) -> Void
    ) {
        let once = single(.didReceiveResponse, answer)
        enqueue(.didReceiveResponse, .response(response)) { [task, session] in
            guard let delegate = task.dataDelegate, let dataTask = task as? URLSessionDataTask else {
                return once.give(.allow)
            }
            delegate.urlSession(
                session, dataTask: dataTask, didReceive: response, completionHandler: { once.give($0) })
        }
    }

    /// Asks for a credential for a protection space.
    ///
    /// - Parameters:
    ///   - refused: The last credential that the server has refused.
    ///   - failures: How many it has refused.
    ///   - response: The response that asks for credentials.
    func askForCredential(
        _ space: URLProtectionSpace, refused: URLCredential?, failures: Int, _ response: URLResponse,
        answer: @escaping ChallengeAnswer
    ) {
        let once = single(.didReceiveChallenge) { (decision: ChallengeSender.Decision) in
            answer(decision.disposition, decision.credential)
        }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: refused, previousFailureCount: failures,
            failureResponse: response, error: nil, sender: ChallengeSender { once.give($0) })
        ask(challenge, once)
    }

    /// Asks about a challenge that a `URLProtocol` has made.
    func ask(_ challenge: URLAuthenticationChallenge, answer: @escaping ChallengeAnswer) {
        let once = single(.didReceiveChallenge) { (decision: ChallengeSender.Decision) in
            answer(decision.disposition, decision.credential)
        }
        ask(challenge, once)
    }

    private func ask(_ challenge: URLAuthenticationChallenge, _ once: SingleAnswer<ChallengeSender.Decision>) {
        enqueue(
            .didReceiveChallenge,
            .challenge(challenge.protectionSpace, failures: challenge.previousFailureCount)
        ) { [task, session] in
            guard let delegate = task.taskDelegate else { return once.give((.performDefaultHandling, nil)) }
            delegate.urlSession(
                session, task: task, didReceive: challenge, completionHandler: { once.give(($0, $1)) })
        }
    }

    /// Asks whether a server is trusted: the session's delegate with its method about the session, or, where it does not
    /// have that, the delegate with the method about the task. That is one call, which nothing comes between.
    func askAboutTrust(
        _ space: URLProtectionSpace, answer: @escaping @Sendable @NetworkActor (TrustAnswer) -> Void
    ) {
        let once = single(.didReceiveChallenge, answer)
        @Sendable func challenge(_ sender: ChallengeSender) -> URLAuthenticationChallenge {
            URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                error: nil, sender: sender)
        }
        enqueue(.didReceiveChallenge, .challenge(space, failures: 0)) { [task, session] in
            let askTask: @Sendable () -> Void = {
                guard let delegate = task.taskDelegate else { return once.give(.default) }
                let give: @Sendable (ChallengeSender.Decision) -> Void = {
                    once.give(TrustAnswer(judge: .task(delegate), $0))
                }
                delegate.urlSession(
                    session, task: task, didReceive: challenge(ChallengeSender(give)),
                    completionHandler: { give(($0, $1)) })
            }
            guard let delegate = session.delegate else { return askTask() }
            let give: @Sendable (ChallengeSender.Decision) -> Void = { once.give(TrustAnswer(judge: .session, $0)) }
            delegate.urlSession(
                session, didReceive: challenge(ChallengeSender(give, whenMethodIsMissing: askTask)),
                completionHandler: { give(($0, $1)) })
        }
    }

    func askForBodyStream(answer: @escaping @Sendable @NetworkActor (BodyStream?) -> Void) {
        let once = single(.needNewBodyStream, answer)
        enqueue(.needNewBodyStream) { [task, session] in
            guard let delegate = task.taskDelegate else { return once.give(nil) }
            delegate.urlSession(
                session, task: task, needNewBodyStream: { stream in once.give(stream.map { BodyStream($0) }) })
        }
    }

    /// Asks for a stream of a body's bytes from an offset on.
    func askForBodyStream(from offset: Int64, answer: @escaping @Sendable @NetworkActor (BodyStream?) -> Void) {
        let once = single(.needNewBodyStreamFrom, answer)
        enqueue(.needNewBodyStreamFrom, .offset(offset)) { [task, session] in
            guard let delegate = task.taskDelegate else { return once.give(nil) }
            delegate.urlSession(
                session, task: task, needNewBodyStreamFrom: offset,
                completionHandler: { stream in once.give(stream.map { BodyStream($0) }) })
        }
    }

    func askAboutDelayedRequest(
        _ request: URLRequest,
        answer: @escaping @Sendable @NetworkActor (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        let once = single(.willBeginDelayedRequest) { (value: (URLSession.DelayedRequestDisposition, URLRequest?)) in
            answer(value.0, value.1)
        }
        enqueue(.willBeginDelayedRequest, .request(request.url)) { [task, session] in
            guard let delegate = task.taskDelegate else { return once.give((.continueLoading, nil)) }
            delegate.urlSession(
                session, task: task, willBeginDelayedRequest: request, completionHandler: { once.give(($0, $1)) })
        }
    }

    /// Asks whether a response may be stored, and in which form. Called only when the user answers "yes".
    func askAboutCaching(
        _ proposed: CachedURLResponse, store: @escaping @Sendable (CachedURLResponse, URLSessionDataTask) -> Void
    ) {
        enqueue(.willCacheResponse, .caching(proposed.response, bytes: proposed.data.count)) { [task, session] in
            guard let dataTask = task as? URLSessionDataTask else { return }
            guard let delegate = task.dataDelegate else { return store(proposed, dataTask) }
            let isAnswered = Mutex(false)
            delegate.urlSession(session, dataTask: dataTask, willCacheResponse: proposed) { wanted in
                let isFirst = isAnswered.withLock { isAnswered in
                    defer { isAnswered = true }
                    return !isAnswered
                }
                guard isFirst, let wanted, let circumstances = proposed.provenance else { return }
                store(wanted.with(circumstances), dataTask)
            }
        }
    }

    // MARK: Reports

    /// Reports that the transfer waits for connectivity.
    func reportWaitingForConnectivity() {
        guard hasTaskDelegate else { return }
        enqueue(.taskIsWaitingForConnectivity) { [task, session] in
            task.taskDelegate?.urlSession(session, taskIsWaitingForConnectivity: task)
        }
    }

    /// Reports that an upload starts over, and why it could not be resumed.
    func reportRestart(_ reason: any Error) {
        enqueue(.willRestartUpload, .result(reason, bytes: nil)) { [task, session] in
            task.taskDelegate?.urlSession(session, task: task, willRestartUploadBecause: reason)
        }
    }

    /// Reports a failure after which an upload resumes by itself.
    func reportInterruption(_ error: any Error) {
        guard let observer = task.interruptionObserver else { return }
        session.queue.enqueue { observer(error) }
    }

    /// Reports what it takes to resume an upload while it is under way.
    func reportResumeData(_ data: Data?, to observer: @escaping @Sendable (Data?) -> Void) {
        session.queue.enqueue { observer(data) }
    }

    func reportInterim(_ response: HTTPURLResponse) {
        enqueue(.didReceiveInformationalResponse, .response(response)) { [task, session] in
            task.taskDelegate?.urlSession(session, task: task, didReceiveInformationalResponse: response)
        }
    }

    /// Delivers what the mailbox holds when the call is made, however many reads have filled it.
    ///
    /// - Parameter drained: There is room again after the mailbox was full.
    func deliverData(from mailbox: ByteMailbox, drained: @escaping @Sendable @NetworkActor () -> Void) {
        let traced = trace?.queue(.didReceiveData)
        session.queue.enqueue { [task, session, trace] in
            guard let data = mailbox.takeAndSleep() else { return }
            traced?.begin(.bytes(data.count))
            trace?.delivers(data)
            if let dataTask = task as? URLSessionDataTask {
                task.dataDelegate?.urlSession(session, dataTask: dataTask, didReceive: data)
            }
            traced?.end()
            if mailbox.done(data.count) { NetworkActor.post(drained) }
        }
    }

    /// Counts the bytes of a request's body from now on.
    ///
    /// - Parameter offset: How many bytes earlier requests have sent.
    func startSending(at offset: Int64) {
        bytesSent = ByteReport()
        bytesSent.start(at: offset)
    }

    func reportSent(_ count: Int64) {
        task.updateCounts { $0.sent += count }
        guard reportsProgress, bytesSent.add(count) else { return }
        let expected = task.countOfBytesExpectedToSend
        let traced = trace?.queue(.didSendBodyData)
        session.queue.enqueue { [task, session, bytesSent] in
            let (bytes, total) = bytesSent.take()
            traced?.begin(.progress(bytes: bytes, total: total, expected: expected))
            task.taskDelegate?.urlSession(
                session, task: task, didSendBodyData: bytes, totalBytesSent: total, totalBytesExpectedToSend: expected)
            traced?.end()
        }
    }

    func reportWritten(_ count: Int64) {
        guard reportsProgress, let download = downloadTask, bytesWritten.add(count) else { return }
        let traced = trace?.queue(.didWriteData)
        session.queue.enqueue { [session, bytesWritten] in
            let (bytes, total) = bytesWritten.take()
            let expected = download.countOfBytesExpectedToReceive
            traced?.begin(.progress(bytes: bytes, total: total, expected: expected))
            download.downloadDelegate?.urlSession(
                session, downloadTask: download, didWriteData: bytes, totalBytesWritten: total,
                totalBytesExpectedToWrite: expected)
            traced?.end()
        }
    }

    /// A response's bytes follow `offset` bytes that are in the storage already.
    func startWriting(at offset: Int64) {
        bytesWritten.start(at: offset)
    }

    func reportResumed(at offset: Int64, expected: Int64) {
        guard reportsProgress, let download = downloadTask else { return }
        enqueue(.didResumeAtOffset, .position(offset: offset, expected: expected)) { [session] in
            download.downloadDelegate?.urlSession(
                session, downloadTask: download, didResumeAtOffset: offset, expectedTotalBytes: expected)
        }
    }

    /// Calls the delegate of a WebSocket task.
    func callWebSocketDelegate(
        _ method: TransferTrace.DelegateMethod, _ arguments: @autoclosure () -> TransferTrace.Arguments,
        _ call: @escaping @Sendable (any URLSessionWebSocketDelegate, URLSession, URLSessionWebSocketTask) -> Void
    ) {
        enqueue(method, arguments()) { [task, session] in
            guard let task = task as? URLSessionWebSocketTask, let delegate = task.webSocketDelegate else { return }
            call(delegate, session, task)
        }
    }

    /// Calls the delegate of a stream task.
    func callStreamDelegate(
        _ method: TransferTrace.DelegateMethod,
        _ call: @escaping @Sendable (any URLSessionStreamDelegate, URLSession, URLSessionStreamTask) -> Void
    ) {
        enqueue(method) { [task, session] in
            guard let task = task as? URLSessionStreamTask, let delegate = task.streamDelegate else { return }
            call(delegate, session, task)
        }
    }

    // MARK: Another task in the task's place

    /// Another task, which has taken over what users see of this one, continues with the response of a data task.
    ///
    /// - Returns: Whether the task has been cancelled.
    func replaceTask(by new: URLSessionTask) -> Bool {
        task.handTransfer(to: new)
        task = new
        trace = new.taskTrace
        return new.isCancelled
    }

    /// Reports to the delegate of `old` that `new` has taken its place.
    ///
    /// - Parameter call: The delegate's `didBecome` method.
    func reportReplacement(
        of old: URLSessionTask, by new: URLSessionTask,
        _ call: @escaping @Sendable (any URLSessionDataDelegate, URLSession, URLSessionDataTask) -> Void
    ) {
        enqueue(.didBecome, .task(new.taskIdentifier)) { [session] in
            old.replacementBecomesKnown()
            if let dataTask = old as? URLSessionDataTask, let delegate = old.dataDelegate {
                call(delegate, session, dataTask)
            }
            LastCalls.finish(old, in: session)
        }
    }

    // MARK: Metrics

    /// The current request's metrics, where a delegate may want them.
    var currentMetrics: TransactionMetricsCollector? { metrics?.current }

    /// A request is about to be sent, or loaded without being sent.
    func beginMetrics(of request: URLRequest) {
        if let metrics {
            metrics.begin(request)
        } else if hasTaskDelegate {
            metrics = TaskMetricsCollector(request)
        }
    }

    /// The current request is loaded in this process. Its content counts as it is delivered.
    ///
    /// - Parameter source: `.localCache` for the cache's response; `.unknown` for others.
    func collectMetrics(
        ofLocal response: URLResponse, to request: URLRequest, from source: URLSessionTaskMetrics.ResourceFetchType
    ) {
        beginMetrics(of: request)
        metrics?.current.setLocalResponse(response, from: source)
    }

    // MARK: The last calls

    /// Calls the handler that waits for resume data.
    func deliverResumeData(_ data: Data?, to handler: @escaping @Sendable (Data?) -> Void) {
        enqueue(.resumeDataHandler, .resumeData(isThere: data != nil)) { handler(data) }
    }

    /// The calls that end the task. They complete the metrics, so they are made once, and no other call follows.
    func makeLastCalls() -> LastCalls {
        LastCalls(of: task, in: session, trace, metrics, redirects: redirectsFollowed)
    }
}

/// A question's answer: it counts once, however often a user gives it, and takes effect on the network thread.
final class SingleAnswer<Answer: Sendable>: Sendable {
    private struct Effect {
        var call: (@Sendable @NetworkActor (Answer) -> Void)?
    }

    private let effect: Mutex<Effect>

    init(_ effect: @escaping @Sendable @NetworkActor (Answer) -> Void) {
        self.effect = Mutex(Effect(call: effect))
    }

    func give(_ answer: Answer) {
        if let call = effect.withLock({ $0.call.take() }) { NetworkActor.post { call(answer) } }
    }
}

/// Bytes sent or written that the delegate has not been called about. Calls that would wait behind a busy queue merge.
final class ByteReport: Sendable {
    private struct State {
        var unreported: Int64 = 0
        var total: Int64 = 0
        var isScheduled = false
    }

    private let state = Mutex(State())

    /// `offset` bytes are there already.
    func start(at offset: Int64) {
        state.withLock { state in
            state.unreported = 0
            state.total = offset
        }
    }

    /// Adds bytes. True when a call has to be put into the queue.
    func add(_ bytes: Int64) -> Bool {
        state.withLock { state in
            state.unreported += bytes
            state.total += bytes
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// Returns what the call in the queue reports, and counts from zero again.
    func take() -> (bytes: Int64, total: Int64) {
        state.withLock { state in
            defer {
                state.unreported = 0
                state.isScheduled = false
            }
            return (state.unreported, state.total)
        }
    }
}
