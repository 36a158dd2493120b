import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Writes the events of one task into a trace. From any thread.
///
/// An object that records holds an optional one: without a trace, recording costs the check for `nil`.
final class TaskTrace: DialWatcher, Sendable {
    let trace: TransferTrace
    /// The task's number in the trace.
    let task: Int
    private let clock: SessionClock

    /// - Parameters:
    ///   - identifier: The task's.
    ///   - earlier: What has recorded the task so far: in the same trace it keeps its number.
    init(_ trace: TransferTrace, of identifier: Int, clock: SessionClock, after earlier: TaskTrace?) {
        self.trace = trace
        let number = earlier?.trace === trace ? earlier?.task : nil
        task = number ?? trace.numberTask(identifier)
        self.clock = clock
        trace.use(clock)
    }

    /// The trace of the task that takes the task's place.
    ///
    /// - Parameters:
    ///   - next: Its identifier.
    ///   - known: What has recorded it so far.
    func replaced(by next: Int, after known: TaskTrace?) -> TaskTrace {
        let successor = TaskTrace(trace, of: next, clock: clock, after: known)
        record(other: .replaced(by: successor.task))
        return successor
    }

    // MARK: Events

    /// Records an event, on the network thread unless a lane is given.
    func record(
        _ record: TraceRecord, in lane: TransferTrace.Lane = .network, exchange: Int? = nil, connection: UInt64? = nil
    ) {
        let time = clock.reading
        trace.add(
            TraceEntry(
                time: time, lane: lane, task: task, exchange: exchange, connection: connection, record: record))
    }

    /// Records an event that takes more than numbers, on the network thread.
    func record(_ object: some TracedObject, exchange: Int? = nil, connection: UInt64? = nil) {
        let time = clock.reading
        trace.add(
            TraceEntry(
                time: time, task: task, exchange: exchange, connection: connection, record: .object, object: object))
    }

    /// Records an event that is rare.
    func record(other kind: TransferTrace.Kind) {
        record(EagerEvent(kind))
    }

    /// Records that a call of the delegate begins on this thread.
    func begin(_ record: TraceRecord, in lane: TransferTrace.Lane) {
        let time = clock.reading
        trace.add(TraceEntry(time: time, lane: lane, task: task, record: record), call: .begins)
    }

    /// Records that it has ended.
    func end(_ record: TraceRecord, in lane: TransferTrace.Lane) {
        let time = clock.reading
        trace.add(TraceEntry(time: time, lane: lane, task: task, record: record), call: .ends)
    }

    /// Records what the program has done, which may be within a call of the delegate.
    private func recordProgram(_ record: TraceRecord, with object: (any TracedObject)? = nil) {
        let time = clock.reading
        trace.add(TraceEntry(time: time, lane: .caller, task: task, record: record, object: object), call: .mayRun)
    }

    /// The task has been made: by the program or, where it takes another's place, on the network thread.
    func made(_ request: URLRequest?) {
        let object = MadeTask(request)
        NetworkActor.isCurrent ? record(object) : recordProgram(.object, with: object)
    }

    /// The program is about to receive content of the response.
    func delivers(_ content: @autoclosure () -> Data) {
        trace.show(.delivery(content()), of: task)
    }

    /// The program has called one of the task's methods.
    func call(_ call: TransferTrace.TaskCall) {
        recordProgram(.call(call))
    }

    /// The call arrives on the network thread.
    func message(_ call: TransferTrace.TaskCall) {
        record(.message(call))
    }

    // MARK: Connections

    func waits(for hop: NextHop) {
        record(other: .waiting(host: hop.endpoint.description))
    }

    @NetworkActor
    func watch(_ dial: any Dial, to hop: NextHop) {
        record(other: .dialling(host: hop.endpoint.description))
        dial.observe { [self] step in
            switch step {
            case .lookUp(let host): record(other: .lookUp(host: host))
            case .resolved(let addresses): record(other: .resolved(addresses: addresses.compactMap(\.host)))
            }
        }
    }

    /// A connection is being made secure.
    func handshake(with host: String) {
        record(other: .handshake(host: host))
    }

    /// It is secure, or never will be.
    func handshakeEnded(_ result: Result<TLSHandshakeResult, TLSFailure>) {
        switch result {
        case .success(let agreed):
            record(
                other: .secured(
                    TransferTrace.Security(
                        version: agreed.version.name, cipherSuite: agreed.cipherSuite.map { "\($0)" },
                        applicationProtocol: agreed.applicationProtocol, isResumed: agreed.isResumed)))
        case .failure(let failure): record(other: .handshakeFailed(reason: failure.explanation.sentence.asReason))
        }
    }

    /// The request has a connection.
    @NetworkActor
    func connected(_ connection: HTTPConnection) {
        record(connection.facts, connection: connection.number)
    }

    /// A request is sent.
    ///
    /// - Parameter byteCount: How long its head is.
    @NetworkActor
    func exchange(
        _ head: RequestHead, byteCount: Int, _ body: OutgoingBody, to url: URL?, on connection: HTTPConnection
    ) -> ExchangeTrace {
        ExchangeTrace(
            self, SentHead(head, to: url, byteCount: byteCount), body, connection: connection.number)
    }

    // MARK: WebSockets and streams

    func sentMessage(_ content: Data, isText: Bool) {
        let kept = trace.reserve(min(trace.options.maximumContent, content.count))
        guard kept > 0 else { return record(.frameSent(isText ? .text : .binary, count: content.count)) }
        record(
            other: .frameSent(
                TransferTrace.WebSocketFrame(
                    form: isText ? .text : .binary, count: content.count, content: Data(content.prefix(kept)))))
    }

    func receivedMessage(_ message: WebSocketMessage) {
        let kept = trace.reserve(min(trace.options.maximumContent, message.count))
        let (form, content): (TransferTrace.WebSocketFrame.Form, Data) =
            switch message {
            case .text(let bytes): (.text, Data(bytes.prefix(kept)))
            case .binary(let bytes): (.binary, Data(bytes.prefix(kept)))
            }
        guard kept > 0 else { return record(.frameReceived(form, count: message.count)) }
        record(
            other: .frameReceived(
                TransferTrace.WebSocketFrame(form: form, count: message.count, content: content)))
    }

    func sentClose(_ close: WebSocketClose) {
        record(other: .frameSent(TransferTrace.WebSocketFrame(close)))
    }

    func receivedClose(_ close: WebSocketClose) {
        record(other: .frameReceived(TransferTrace.WebSocketFrame(close)))
    }

    // MARK: Decisions

    func redirect(to request: URLRequest) {
        record(other: .redirect(url: request.url?.absoluteString ?? ""))
    }

    func challenge(from peer: AuthenticationPeer, _ offers: [SupportedChallenge]) {
        record(other: .challenge(schemes: offers.map(\.scheme.name), isProxy: peer.isProxy))
    }

    func login(to peer: AuthenticationPeer) {
        record(other: .credentials(isProxy: peer.isProxy))
    }

    /// The transfer is over.
    func completed(_ error: (any Error)?) {
        if let error { record(other: .completed(error: error.failureSentence)) } else { record(.completed) }
    }

    /// Content was decoded from a coded body.
    func decoded(_ content: [UInt8]) {
        let kept = trace.reserve(min(trace.options.maximumContent, content.count))
        guard kept > 0 else { return record(.decoded(count: content.count)) }
        record(other: .decoded(TransferTrace.Piece(count: content.count, content: Data(content.prefix(kept)))))
    }

    func cookies(in fields: HeaderFields) {
        let names = fields.values(of: .setCookie).map { String($0.prefix { $0 != "=" && $0 != ";" }) }
        record(other: .cookiesReceived(names: names))
    }

    // MARK: Files

    /// Records what a file's queue has done. The file itself is made on the network thread.
    func file(_ step: TransferTrace.FileStep) {
        switch step {
        case .create: record(.file(step))
        case .truncate, .write, .complete, .stop, .sync, .record: record(.file(step), in: .files)
        }
    }

    /// A body goes into its storage.
    func stores(from offset: Int64) {
        record(.storing(offset: offset))
    }

    /// What the file's queue has reported arrives on the network thread.
    func fileWritten(_ count: Int) {
        record(.written(count))
    }

    // MARK: Delegate calls

    /// A call is put into the delegate queue.
    ///
    /// - Parameter lane: Where it will be made.
    func queue(_ method: TransferTrace.DelegateMethod, on lane: TransferTrace.Lane = .delegateQueue) -> TracedCall {
        let number = trace.nextCall()
        record(.queued(number, method))
        return TracedCall(number, method, lane, self)
    }

    /// A call that records when it waits, begins and ends.
    func tracing(
        _ method: TransferTrace.DelegateMethod, _ arguments: TransferTrace.Arguments?,
        _ call: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
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
            record(.answer(method))
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
    func begin(_ arguments: TransferTrace.Arguments?) {
        task.begin(.began(number, method, arguments), in: lane)
    }

    /// The call has returned on this thread.
    func end() {
        task.end(.ended(number, method), in: lane)
    }
}

extension TransferTrace.WebSocketFrame {
    fileprivate init(_ close: WebSocketClose) {
        self.init(form: .close, count: close.payload.count, closeCode: close.code.map { Int($0) })
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
