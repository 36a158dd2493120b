import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Receives what happens to a WebSocket connection, apart from the answers to calls.
@NetworkActor
protocol WebSocketConversationClient: AnyObject {
    /// How long the server has for its close frame, and the program for the messages before it.
    var closingLimit: Duration { get }

    /// Runs `action` when the delegate and the handlers have returned from all calls so far.
    func afterDelegateCalls(_ action: @escaping @Sendable @NetworkActor () -> Void)
    /// A message with this many bytes has arrived.
    func webSocketDidReceive(_ count: Int)
    /// Messages with this many bytes, taken together, have been sent.
    func webSocketDidSend(_ count: Int64)
    /// The closing handshake is over, and the program has had its chance to receive the messages before it.
    func webSocketDidClose(_ close: WebSocketClose?)
    /// The connection has ended in another way.
    ///
    /// - Parameter status: The close code that users see.
    func webSocketDidFail(_ failure: WebSocketFailure, status: Int)
}

/// What goes over a WebSocket connection, from the first call of its user to the last frame.
///
/// Theory of operation: sends wait in a ``WebSocketOutbox``, receives in a ``WebSocketInbox``, from the moment the task
/// exists. When the handshake is over, the transfer gives the transport to the conversation and treats it as the source
/// of a response that lasts. From then on
/// ```
/// open ── their close frame ──────────────► closing ── our answer is out ─► draining ─► over
///      ── close(_:) ── our frame is out ──► closing ── their answer ──────► draining ─► over
///      ── end of stream, error, violation ───────────────────────────────► draining ─► over
/// ```
/// `closing` has a limit in time. The transport lingers for two seconds, so that the last frame reaches the server.
///
/// `draining` delivers the messages that came before the end, so that the task's last calls come after them. It is over
/// when the program asks for one more, or does not ask: the handler of the last message has returned, or no call has come
/// for a while. A program that has closed the connection itself is not waited for. Then the transfer concludes the task,
/// and what waits is answered with the reason. Messages that are left can still be received.
@NetworkActor
final class WebSocketConversation: Conversation, TransportHandler {
    typealias Handler = WebSocketOutbox.Handler

    private enum Stage {
        /// The handshake is not over.
        case waiting
        case open
        /// A close frame has arrived, or is to be sent.
        case closing(wantedBy: Side)
        /// There is no connection any more. Its end has not been reported.
        case draining(End, wantedBy: Side)
        /// With the reason that later calls fail with.
        case over(any Error)
    }

    private enum Side {
        case client, server
    }

    /// How a connection has ended.
    private enum End {
        case closed(WebSocketClose?)
        case failed(WebSocketFailure, status: Int)
    }

    /// The longest wait for the other side's close frame, and for a program that has not asked for all messages.
    private static let closingLimit = Duration.seconds(5)
    /// How long a Swift task has for its next call after it was resumed with the last message. It may not have begun to
    /// process that one.
    private static let resumptionLimit = Duration.seconds(1)
    /// So much is sent at once, so that other connections have their turn.
    private static let bytesPerTurn = 1 << 20

    private let inbox: WebSocketInbox
    private var outbox = WebSocketOutbox()
    private var pings = WebSocketPings()
    private var stage = Stage.waiting
    /// Gone once the connection is closed.
    private var paced: PacedTransport?
    /// From the opening to the conclusion; it keeps the conversation, too.
    private var client: (any WebSocketConversationClient)?
    /// The request's, for errors.
    private var url: URL?
    private var trace: TaskTrace?
    private let clock: SessionClock
    private var closingTimer: SessionTimer?
    /// How many calls of `afterDelegateCalls` have not been answered.
    private var awaitedReturns = 0
    private var isHeld = false
    private var isConsuming = false
    /// Messages wait for the end of the loop's turn.
    private var flushesAfterTurn = false
    /// The server's close frame.
    private var receivedClose: WebSocketClose?
    /// Sending has failed; what the server sent before is still read.
    private var hasLostOutput = false

    /// - Parameters:
    ///   - heldBytes: How many bytes of messages are held for calls to come.
    ///   - clock: The session's.
    nonisolated init(heldBytes: Int, clock: SessionClock) {
        inbox = WebSocketInbox(limit: heldBytes, clock: clock)
        self.clock = clock
    }

    // MARK: ResponseSource

    var isRemote: Bool { true }
    var isReused: Bool { false }
    /// No frame has to come for a long time.
    var mayBeIdle: Bool { true }

    var isPaused: Bool {
        get { isHeld }
        set {
            guard isHeld != newValue else { return }
            isHeld = newValue
            resumeReading()
            flush()
        }
    }

    /// The transfer wants no more: sends a close frame, as far as there is room, and waits for no answer.
    func abandon() {
        flushNow()
        leave(with: isOpen && outbox.isAtStartOfFrame ? WebSocketClose() : nil)
    }

    // MARK: Its life

    /// There has been a connection, and its end has not been reported.
    var isUnderWay: Bool {
        switch stage {
        case .open, .closing, .draining: true
        case .waiting, .over: false
        }
    }

    /// Messages can go both ways, or the closing handshake is in progress.
    private var isOpen: Bool {
        switch stage {
        case .open, .closing: true
        case .waiting, .draining, .over: false
        }
    }

    private var isClosing: Bool {
        if case .closing = stage { return true }
        return false
    }

    /// The handshake is over.
    ///
    /// - Parameters:
    ///   - bytes: What the server has sent after it.
    ///   - url: The request's.
    ///   - trace: Records frames.
    func open(
        _ transport: any LoopTransport, _ agreement: WebSocketHandshake.Agreement, received bytes: [UInt8],
        at url: URL?,
        limits: RateLimits, trace: TaskTrace?, for client: any WebSocketConversationClient
    ) {
        guard case .waiting = stage else { return transport.close() }
        stage = .open
        self.client = client
        self.url = url
        self.trace = trace
        inbox.start(agreement, received: bytes)
        outbox.start(WebSocketWriter(role: .client, compression: agreement.compression), trace)
        transport.handler = self
        var paced = PacedTransport(transport)
        paced.setLimits(
            limits, onReceivingTurn: { [weak self] in self?.takeTurn(receiving: $0) },
            onSendingTurn: { [weak self] in self?.flush(atMost: $0) })
        self.paced = paced
        resumeReading()
        flush()
    }

    /// Sends a close frame after everything that waits to be sent, and waits for the server's. The program is not waited for
    /// any more.
    func close(_ close: WebSocketClose) {
        switch stage {
        case .open:
            stage = .closing(wantedBy: .client)
            outbox.append(.close(close))
            startClosingTimer()
            resumeReading()
            flush()
        case .closing: stage = .closing(wantedBy: .client)
        case .draining: report()
        case .waiting, .over: break
        }
    }

    /// The task is over: answers everything that waits, and all later calls.
    func conclude(_ error: (any Error)?) {
        if case .over = stage { return }
        let wasCancelled = (error as? URLError)?.code == .cancelled
        let reason = error ?? self.error(.closed)
        leave(with: nil)
        stage = .over(reason)
        if wasCancelled { inbox.dropMessages() }
        client = nil
        url = nil
        inbox.stop()
        failSends(reason)
        inbox.failAll(reason)
    }

    private func failSends(_ reason: any Error) {
        for handler in outbox.removeAll() { handler(reason) }
        for handler in pings.removeAll() { handler(reason) }
    }

    // MARK: The user's calls

    func receive(_ token: ReceiveToken? = nil, _ receiver: @escaping WebSocketInbox.Receiver) {
        if token?.isCancelled == true { return receiver(.failure(cancelled)) }
        let hasMessage = inbox.deliverHeld(to: receiver, token)
        if !hasMessage {
            if case .over(let reason) = stage { return receiver(.failure(reason)) }
            inbox.append(receiver, token)
        }
        switch stage {
        case .waiting, .open, .closing: resumeReading()
        case .draining: drain()
        case .over: break
        }
    }

    /// Fails the call of ``receive(_:_:)`` with this token.
    func cancelReceive(_ token: ReceiveToken) {
        token.cancel()
        inbox.cancel(token, cancelled)
    }

    func setMaximumMessageSize(_ size: Int) {
        inbox.setMaximumMessageSize(size)
    }

    func send(_ content: Data, isText: Bool, _ handler: @escaping Handler) {
        if let refusal { return handler(refusal) }
        outbox.append(.message(content, isText: isText, handler))
        flushAfterTurn()
    }

    func ping(_ handler: @escaping Handler) {
        if let refusal { return handler(refusal) }
        outbox.append(.ping(pings.append(handler)))
        flush()
    }

    /// Why nothing can be sent any more.
    private var refusal: (any Error)? {
        switch stage {
        case .waiting, .open: hasLostOutput ? error(.lost(nil)) : nil
        case .closing: error(.closed)
        case .draining(let end, _): error(end)
        case .over(let reason): reason
        }
    }

    /// The error of a call after the end.
    private func error(_ end: End) -> URLError {
        switch end {
        case .closed: error(.closed)
        case .failed(let failure, _): error(failure)
        }
    }

    /// The error as users see it.
    private func error(_ failure: WebSocketFailure) -> URLError {
        TransferFailure.webSocket(failure).urlError(for: url)
    }

    private var cancelled: URLError { TransferFailure.cancelled.urlError(for: url) }

    // MARK: Reading

    /// There is room for a message. While the connection is closing there always is: what finds none is dropped.
    private var takesMore: Bool {
        guard isOpen else { return false }
        if isClosing { return receivedClose == nil }
        return !isHeld && inbox.hasRoom
    }

    func transportIsReadable(_ transport: any LoopTransport) {
        let allowance = paced?.receivingAllowance() ?? 0
        if allowance > 0 { receive(atMost: allowance) } else { updateInterest() }
    }

    private func takeTurn(receiving allowance: Int) {
        if takesMore { receive(atMost: allowance) }
        updateInterest()
    }

    private func receive(atMost limit: Int) {
        guard let paced else { return }
        do throws(SystemError) {
            guard let bytes = try paced.receive(atMost: limit) else { return }
            guard !bytes.isEmpty else { return streamEnded(nil) }
            consume(bytes)
        } catch {
            streamEnded(error)
        }
    }

    private func streamEnded(_ error: SystemError?) {
        if receivedClose == nil { fail(.lost(error)) } else { finish() }
    }

    /// Continues where reading stopped for want of room.
    private func resumeReading() {
        guard isOpen, !isConsuming else { return }
        if takesMore, inbox.hasKept {
            inbox.takeKept().withUnsafeBytes { consume($0) }
        }
        updateInterest()
    }

    private func consume(_ bytes: UnsafeRawBufferPointer) {
        isConsuming = true
        defer { isConsuming = false }
        var offset = 0
        do throws(WebSocketError) {
            while takesMore, let event = try inbox.next(bytes, from: &offset) { take(event) }
        } catch {
            return fail(.violation(error))
        }
        // Nothing counts after a close frame (RFC 6455 §5.5.1).
        if offset < bytes.count, receivedClose == nil { inbox.keep(bytes[offset...]) }
        flush()
        updateInterest()
    }

    private func take(_ event: WebSocketReader.Event) {
        switch event {
        case .message(let message):
            client?.webSocketDidReceive(message.count)
            trace?.receivedMessage(message)
            inbox.deliver(message, mustFit: isClosing)
        case .ping(let content):
            trace?.record(.frameReceived(.ping, count: content.count))
            outbox.answer(ping: content)
        case .pong(let content):
            trace?.record(.frameReceived(.pong, count: content.count))
            for handler in pings.answered(by: content) { handler(nil) }
        case .close(let close):
            trace?.receivedClose(close)
            take(close)
        }
    }

    private func take(_ close: WebSocketClose) {
        receivedClose = close
        // RFC 6455 §5.5.1: the answer has the same code. What was not sent yet is not wanted any more.
        if !isClosing || !outbox.hasWrittenClose {
            if !isClosing { stage = .closing(wantedBy: .server) }
            let reason = error(.closed)
            for handler in outbox.cutShort(with: WebSocketClose(code: close.code)) { handler(reason) }
            startClosingTimer()
        }
    }

    // MARK: Writing

    func transportIsWritable(_ transport: any LoopTransport) {
        flush()
    }

    /// Closing is not held up by a suspended task.
    private var mayWrite: Bool { isOpen && !hasLostOutput && (!isHeld || isClosing) }

    /// Hands to the transport what it takes. Not while frames are being read: what follows from them goes out together.
    private func flush() {
        let allowance = mayWrite && outbox.hasMore ? paced?.sendingAllowance() ?? .max : .max
        if allowance > 0 { flush(atMost: min(allowance, Self.bytesPerTurn)) } else { updateInterest() }
    }

    /// Flushes when the work that other threads have posted is done, so that messages sent at the same time share segments
    /// and system calls.
    private func flushAfterTurn() {
        guard !flushesAfterTurn else { return }
        flushesAfterTurn = true
        NetworkActor.afterTurn { [weak self] in
            NetworkActor.assumeIsolated { self?.flushNow() }
        }
    }

    /// Does what ``flushAfterTurn()`` has put off.
    private func flushNow() {
        guard flushesAfterTurn else { return }
        flushesAfterTurn = false
        flush()
    }

    private func flush(atMost limit: Int) {
        guard mayWrite, let paced else { return }
        var budget = limit
        do throws(SystemError) {
            while budget > 0, outbox.compose() {
                let count = try outbox.send(through: paced.transport, atMost: budget)
                guard count > 0 else { break }
                paced.countSent(count)
                budget -= count
            }
        } catch {
            // What the server sent before is read first. If there is nothing, reading ends in the same error.
            hasLostOutput = true
            let reason = self.error(.lost(error))
            for handler in outbox.removeAll() { handler(reason) }
        }
        let (handlers, bytes) = outbox.takeCompleted()
        if bytes > 0 { client?.webSocketDidSend(bytes) }
        for handler in handlers { handler(nil) }
        updateInterest()
        if receivedClose != nil, outbox.hasSentClose || hasLostOutput { finish() }
    }

    private func updateInterest() {
        paced?.watch(reading: takesMore, writing: mayWrite && outbox.hasMore)
    }

    // MARK: Ends

    /// The closing handshake is over, or as much of it as there will be.
    private func finish() {
        end(.closed(receivedClose))
    }

    /// The conversation cannot continue.
    private func fail(_ failure: WebSocketFailure) {
        var status = 1006
        var close: WebSocketClose?
        if case .violation(let error) = failure {
            // RFC 6455 §7.1.7
            status = Int(error.closeCode)
            if outbox.isAtStartOfFrame { close = WebSocketClose(code: error.closeCode) }
        }
        end(.failed(failure, status: status), sending: close)
    }

    /// Ends the conversation after a last frame.
    private func end(_ end: End, sending close: WebSocketClose? = nil) {
        switch stage {
        case .open: stage = .draining(end, wantedBy: .server)
        case .closing(let side): stage = .draining(end, wantedBy: side)
        case .waiting, .draining, .over: return
        }
        leave(with: close)
        failSends(error(end))
        drain()
    }

    /// Reports the end when the program has received the messages before it.
    private func drain() {
        closingTimer?.cancel()
        // A program that waits for another message has received all of them.
        if inbox.isAwaited { return report() }
        awaitedReturns += 1
        client?.afterDelegateCalls { [weak self] in self?.delegateCallsReturned() }
    }

    /// What the program wants to receive from within its calls it has asked for.
    private func delegateCallsReturned() {
        awaitedReturns -= 1
        guard case .draining(_, let side) = stage, awaitedReturns == 0 else { return }
        let limit = side == .client ? .zero : timeForNextCall
        guard limit > .zero else { return report() }
        closingTimer = clock.schedule(after: limit) { [weak self] in self?.report() }
    }

    /// How long the end waits for the program's next call.
    private var timeForNextCall: Duration {
        if inbox.holdsMessages { return closingLimit }
        return inbox.lastResumption.map { Self.resumptionLimit - (clock.now - $0) } ?? .zero
    }

    private func report() {
        guard case .draining(let end, _) = stage, let client else { return }
        switch end {
        case .closed(let close): client.webSocketDidClose(close)
        case .failed(let failure, let status): client.webSocketDidFail(failure, status: status)
        }
    }

    /// Lets go of the transport, after one more frame.
    private func leave(with close: WebSocketClose?) {
        closingTimer?.cancel()
        closingTimer = nil
        guard let transport = paced?.transport else { return }
        paced = nil
        if let close, !outbox.hasWrittenClose { outbox.writeLast(close) }
        LingeringTransport.keep(transport, sending: hasLostOutput ? [] : outbox.unsent)
    }

    private func startClosingTimer() {
        guard closingTimer == nil else { return }
        closingTimer = clock.schedule(after: closingLimit) { [weak self] in
            guard let self else { return }
            if self.receivedClose == nil { self.fail(.closeUnanswered) } else { self.finish() }
        }
    }

    private var closingLimit: Duration { min(client?.closingLimit ?? Self.closingLimit, Self.closingLimit) }
}
