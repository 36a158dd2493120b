import Foundation
internal import PurlHTTP
internal import PurlIO

/// Writes the events of one task into a trace. From any thread.
///
/// An object that records holds an optional one: without a trace, recording costs the check for `nil`.
final class TaskTrace: Sendable {
    let trace: TransferTrace
    let task: Int
    private let clock: SessionClock

    init(_ trace: TransferTrace, task: Int, clock: SessionClock) {
        self.trace = trace
        self.task = task
        self.clock = clock
        trace.use(clock)
    }

    /// The trace of the task that takes the task's place.
    func replaced(by next: Int) -> TaskTrace {
        if next != task { record(.replaced(by: next)) }
        return TaskTrace(trace, task: next, clock: clock)
    }

    // MARK: Events

    /// Records an event on the network thread.
    func record(_ kind: TransferTrace.Kind) {
        record(TransferTrace.Draft(kind: kind))
    }

    func record(_ event: TransferTrace.Draft) {
        var event = event
        event.task = task
        trace.record(event, at: clock.reading)
    }

    func made(_ request: URLRequest?) {
        let lane = trace.laneOfCaller
        record(
            TransferTrace.Draft(
                kind: .made(method: request?.httpMethod ?? "GET", url: shown(request?.url)), lane: lane))
    }

    /// The program has called one of the task's methods.
    func call(_ call: TransferTrace.TaskCall) {
        record(
            TransferTrace.Draft(kind: .call(call), lane: trace.laneOfCaller, effect: .call(task: task, call)))
    }

    /// The call arrives on the network thread.
    func message(_ call: TransferTrace.TaskCall) {
        record(TransferTrace.Draft(kind: .message(call), cause: .call(task: task, call)))
    }

    func hold(_ holds: ReadHolds) {
        if let hold = TransferTrace.Hold(holds) { record(.held(hold)) }
    }

    func release(_ holds: ReadHolds) {
        if let hold = TransferTrace.Hold(holds) { record(.released(hold)) }
    }

    // MARK: Connections

    func waits(for hop: NextHop) {
        record(.waiting(host: hop.endpoint.description))
    }

    func dials(_ hop: NextHop) {
        record(.dialling(host: hop.endpoint.description))
    }

    /// The request has a connection.
    @NetworkActor
    func connected(_ connection: HTTPConnection) {
        let times = connection.isReused ? nil : connection.dialTimes
        var event = TransferTrace.Draft(
            kind: .connected(
                TransferTrace.Connection(
                    local: connection.ends.local.map { "\($0)" } ?? "",
                    remote: connection.ends.remote.map { "\($0)" } ?? "", isReused: connection.isReused,
                    isProxied: connection.leadsToProxy, lookUp: duration(times?.lookupStart, times?.lookupEnd),
                    connect: duration(times?.connectStart, times?.connectEnd))))
        event.connection = trace.number(of: connection.number)
        record(event)
    }

    /// Dialling is measured by the loop's clock: where the session has another, it takes no time.
    private func duration(_ start: MonotonicTime?, _ end: MonotonicTime?) -> Int64? {
        guard let start, let end else { return nil }
        return clock.custom == nil ? max(0, end.nanoseconds - start.nanoseconds) : 0
    }

    /// A request is sent.
    ///
    /// - Parameter byteCount: How long its head is.
    @NetworkActor
    func exchange(
        _ head: RequestHead, byteCount: Int, _ body: OutgoingBody, to url: URL?, on connection: HTTPConnection
    ) -> ExchangeTrace {
        ExchangeTrace(
            self, head, byteCount: byteCount, body, url: shown(url),
            connection: trace.number(of: connection.number))
    }

    // MARK: Decisions

    func redirect(to request: URLRequest) {
        record(.redirect(url: shown(request.url)))
    }

    func challenge(from peer: AuthenticationPeer, _ offers: [SupportedChallenge]) {
        record(.challenge(schemes: offers.map(\.scheme.name), isProxy: peer.isProxy))
    }

    func login(to peer: AuthenticationPeer) {
        record(.credentials(isProxy: peer.isProxy))
    }

    /// The transfer is over.
    func completed(_ error: (any Error)?) {
        let reason = error.map { ($0 as NSError).localizedFailureReason ?? $0.localizedDescription }
        record(.completed(error: reason))
    }

    /// Content was decoded from a coded body.
    func decoded(_ content: [UInt8]) {
        let kept = trace.reserve(min(trace.options.maximumContent, content.count))
        record(
            .decoded(TransferTrace.Piece(count: content.count, content: kept > 0 ? Data(content.prefix(kept)) : nil)))
    }

    func cache(_ decision: CacheDecision) {
        switch decision {
        case .use: record(.cache(.hit))
        case .validate: record(.cache(.validate))
        case .forward: record(.cache(.miss))
        case .unsatisfiable, .refuse: record(.cache(.refuse))
        }
    }

    func cache(_ judgement: ResponseDecision.CacheJudgement) {
        switch judgement {
        case .confirmed: record(.cache(.confirmed))
        case .replaced: record(.cache(.replacesFailure))
        case .mismatched, .irrelevant: break
        }
    }

    func cookies(in fields: HeaderFields) {
        let names = fields.values(of: .setCookie).map { String($0.prefix { $0 != "=" && $0 != ";" }) }
        record(.cookiesReceived(names: names))
    }

    /// The text of a URL, without a user.
    func shown(_ url: URL?) -> String {
        let text = url?.absoluteString ?? ""
        return trace.options.keepsSecrets ? text : TracedFields.withoutUser(text)
    }

    // MARK: Files

    /// Records what a file's queue has done. The file itself is made on the network thread.
    func file(_ step: TransferTrace.FileStep) {
        var event = TransferTrace.Draft(kind: .file(step), lane: .files)
        switch step {
        case .create: event.lane = .network
        case .truncate: event.cause = .storing(task: task)
        case .write:
            event.cause = .bytes(task: task)
            event.effect = .written(task: task)
        case .complete, .stop: event.cause = .ending(task: task)
        case .sync, .record: break
        }
        record(event)
    }

    /// A body goes into its storage.
    func stores(from offset: Int64) {
        record(TransferTrace.Draft(kind: .storing(offset: offset), effect: .storing(task: task)))
    }

    /// What the file's queue has reported arrives on the network thread.
    func fileWritten(_ count: Int) {
        record(TransferTrace.Draft(kind: .written(count), cause: .written(task: task)))
    }

    // MARK: Delegate calls

    /// A call is put into the delegate queue.
    ///
    /// - Parameter lane: Where it will be made.
    func queue(_ method: TransferTrace.DelegateMethod, on lane: TransferTrace.Lane = .delegateQueue) -> TracedCall {
        let number = trace.nextCall()
        let call = TransferTrace.DelegateCall(number: number, method: method, stored: .none)
        record(TransferTrace.Draft(kind: .queued(call), effect: .delegateCall(number)))
        return TracedCall(number, method, lane, self)
    }

    /// A call that records when it waits, begins and ends.
    func tracing(
        _ method: TransferTrace.DelegateMethod, _ arguments: TracedArguments, _ call: @escaping DelegateQueue.Call
    ) -> DelegateQueue.Call {
        let traced = queue(method)
        return {
            traced.begin(arguments)
            call()
            traced.end()
        }
    }

    /// An answer that records when it arrives on the network thread.
    func tracingAnswer<Answer>(
        of method: TransferTrace.DelegateMethod, _ answer: @escaping @Sendable @NetworkActor (Answer) -> Void
    ) -> @Sendable @NetworkActor (Answer) -> Void {
        { [self] value in
            record(TransferTrace.Draft(kind: .answer(method), cause: .answer(task: task, method)))
            answer(value)
        }
    }
}

/// A call in the delegate queue that is recorded.
struct TracedCall: Sendable {
    private let number: Int
    private let method: TransferTrace.DelegateMethod
    private let lane: TransferTrace.Lane
    private let task: TaskTrace

    init(_ number: Int, _ method: TransferTrace.DelegateMethod, _ lane: TransferTrace.Lane, _ task: TaskTrace) {
        self.number = number
        self.method = method
        self.lane = lane
        self.task = task
    }

    /// The call begins on this thread.
    func begin(_ arguments: TracedArguments) {
        task.trace.setMakesCall(true)
        let call = TransferTrace.DelegateCall(number: number, method: method, stored: arguments)
        task.record(
            TransferTrace.Draft(
                kind: .began(call), lane: lane, cause: .delegateCall(number),
                effect: method.isQuestion ? .answer(task: task.task, method) : nil))
    }

    /// The call has returned on this thread.
    func end() {
        let call = TransferTrace.DelegateCall(number: number, method: method, stored: .none)
        task.record(TransferTrace.Draft(kind: .ended(call), lane: lane))
        task.trace.setMakesCall(false)
    }
}

/// The last calls of a task that reports to its delegate.
struct TracedLastCalls: Sendable {
    /// The call that delivers the file of a download.
    let file: TracedCall?
    let completion: TracedCall

    init(_ trace: TaskTrace, hasFile: Bool) {
        file = hasFile ? trace.queue(.didFinishDownloading) : nil
        completion = trace.queue(.didComplete)
    }
}

extension AuthenticationPeer {
    fileprivate var isProxy: Bool { status == 407 }
}

extension SupportedChallenge.Scheme {
    fileprivate var name: String {
        switch self {
        case .basic: "Basic"
        case .digest: "Digest"
        }
    }
}

extension TransferTrace.DelegateMethod {
    /// Whether the network thread waits for an answer.
    fileprivate var isQuestion: Bool {
        switch self {
        case .willPerformHTTPRedirection, .didReceiveResponse, .didReceiveChallenge, .needNewBodyStream,
            .needNewBodyStreamFrom, .willBeginDelayedRequest:
            true
        default: false
        }
    }
}

extension TransferTrace.Hold {
    fileprivate init?(_ holds: ReadHolds) {
        switch holds {
        case .suspended: self = .suspended
        case .deciding: self = .deciding
        case .full: self = .full
        case .decoding: self = .decoding
        default: return nil
        }
    }
}
