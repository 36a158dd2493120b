import Foundation
internal import PurlConnections
internal import PurlIO

/// Receives what happens to a stream, apart from the answers to its reads and writes.
@NetworkActor
protocol StreamConversationClient: AnyObject {
    func streamDidReceive(_ count: Int)
    func streamDidSend(_ count: Int)
    /// The server has ended its stream, or the user has closed the direction.
    func streamDidCloseRead()
    /// The user has closed the direction, or it is lost.
    func streamDidCloseWrite()
    /// Both directions are closed.
    func streamDidEnd()
    func streamDidFail(_ failure: StreamFailure)
    /// Makes the connection secure. `completion` is called later, unless the result is cancelled.
    ///
    /// - Parameter bytes: What came over it and no read has taken.
    /// - Returns: `nil` when that is not possible.
    func secureStream(
        _ transport: any LoopTransport, received bytes: [UInt8],
        completion: @escaping Securing.Completion
    ) -> Securing?
    /// The connection is the delegate's from now on.
    ///
    /// - Parameters:
    ///   - bytes: What came over it and no read has taken.
    ///   - isReadClosed: The user has closed the reading direction.
    func streamsCaptured(_ socket: StreamSocket, _ bytes: [UInt8], isReadClosed: Bool)
}

/// What goes over a stream task's connection, from the first call of its user to the last byte.
///
/// Theory of operation: reads wait in a ``StreamInput``, writes in a ``StreamOutput``, from the moment the task exists, and
/// are served in order. When the connection is there, the transfer gives its transport to the conversation and treats it
/// as the source of a response that lasts. From then on the two directions end each by itself:
/// ```
/// reading ── end of stream, all of it taken ──► closed          writing ── close in its turn ──► closed
///         ── close in its turn ───────────────► closed                  ── error ──────────────► lost
/// ```
/// The task is over when both have ended, when a read finds the connection broken, or when the streams are captured.
/// Then what waits is answered with the reason. What closes a direction, and what captures the streams, waits in the
/// queues like anything else; the latter stands in both, and takes effect when it is first in both.
@NetworkActor
final class StreamConversation: Conversation, TransportHandler {
    private enum Stage {
        /// There is no connection yet.
        case waiting
        case open
        /// With the reason that later calls fail with; `nil` after an end in order.
        case over((any Error)?)
    }

    /// So much is sent at once, so that other connections have their turn.
    private static let bytesPerTurn = 1 << 20

    /// The request that stands for the connection in errors and metrics.
    let request: URLRequest?
    private let input: StreamInput
    private let output = StreamOutput()
    private let deadlines: StreamDeadlines
    private var stage = Stage.waiting
    private var isHeld = true
    /// Gone once the connection is the delegate's, or closed.
    private var paced: PacedTransport?
    /// The connection, while it becomes secure. Reads and writes wait.
    private var securing: Securing?
    private var limits = RateLimits()
    /// The delegate has the streams.
    private var hasBeenCaptured = false
    /// From the opening to the conclusion; it keeps the conversation, too.
    private var client: (any StreamConversationClient)?

    nonisolated init(_ request: URLRequest?, heldBytes: Int, clock: SessionClock) {
        self.request = request
        input = StreamInput(limit: heldBytes)
        deadlines = StreamDeadlines(clock)
    }

    // MARK: ResponseSource

    var isRemote: Bool { true }
    var isReused: Bool { false }
    /// No bytes have to come for a long time, but those of a handshake.
    var mayBeIdle: Bool { securing?.isAsking ?? true }

    /// While paused, the conversation reads and writes nothing, and no time-out runs.
    var isPaused: Bool {
        get { isHeld }
        set {
            guard isHeld != newValue else { return }
            isHeld = newValue
            isHeld ? deadlines.stop() : deadlines.start(pending, onAlarm: alarm)
            serve()
        }
    }

    /// The transfer wants no more.
    func abandon() {
        paced?.transport.close()
        paced = nil
        securing?.cancel()
        securing = nil
    }

    // MARK: Its life

    private var isOpen: Bool {
        if case .open = stage { return paced != nil }
        return false
    }

    /// The connection is there.
    ///
    /// - Parameter bytes: What has arrived over it already.
    func open(
        _ transport: any LoopTransport, received bytes: [UInt8], limits: RateLimits,
        for client: any StreamConversationClient
    ) {
        guard case .waiting = stage else { return transport.close() }
        stage = .open
        self.client = client
        self.limits = limits
        attach(transport)
        if input.receive(bytes), !bytes.isEmpty { client.streamDidReceive(bytes.count) }
        serve()
    }

    private func attach(_ transport: any LoopTransport) {
        transport.handler = self
        var paced = PacedTransport(transport)
        paced.setLimits(
            limits, onReceivingTurn: { [weak self] in self?.takeTurn(receiving: $0) },
            onSendingTurn: { [weak self] in self?.takeTurn(sending: $0) })
        self.paced = paced
    }

    /// The task is over: answers everything that waits, and all later calls.
    func conclude(_ error: (any Error)?) {
        if case .over = stage { return }
        stage = .over(error)
        abandon()
        deadlines.cancel()
        if (error as? URLError)?.code == .cancelled { input.discardHeld() }
        let reason = error ?? overError
        client = nil
        input.failAll(reason)
        output.failAll(reason)
    }

    /// The error as users see it.
    private func error(_ failure: StreamFailure) -> URLError {
        TransferFailure.stream(failure).urlError(for: request?.url)
    }

    /// Why nothing goes over the stream after an end in order.
    private var overError: any Error { error(hasBeenCaptured ? .captured : .over) }

    // MARK: The user's calls

    func read(
        minimum: Int, maximum: Int, timeout: Duration?, token: ReceiveToken? = nil,
        _ receiver: @escaping StreamOperation.Receiver
    ) {
        let maximum = max(0, maximum)
        // A read that waited for no byte could not be answered.
        let minimum = min(max(1, minimum), maximum)
        let read = StreamOperation(.read(minimum: minimum, maximum: maximum, receiver), token: token)
        if token?.isCancelled == true { return read.fail(cancelled) }
        if case .over(let reason) = stage {
            let isAtEnd = reason == nil && input.hasEnded && !input.isClosed && !hasBeenCaptured
            return input.answer(
                read, minimum: minimum, maximum: maximum, orElse: isAtEnd ? nil : reason ?? overError)
        }
        deadlines.limit(read, to: timeout, onAlarm: alarm)
        input.append(read)
        serve()
    }

    /// Fails the read with this token.
    func cancelRead(_ token: ReceiveToken) {
        token.cancel()
        input.cancel(token, cancelled)
        serve()
    }

    private var cancelled: URLError { TransferFailure.cancelled.urlError(for: request?.url) }

    /// Nothing more is read once what was asked for before has come.
    func closeRead() {
        if case .over = stage { return }
        input.append(StreamOperation(.close))
        serve()
    }

    func write(_ bytes: Data, timeout: Duration?, _ handler: @escaping StreamOperation.Handler) {
        let write = StreamOperation(.write(bytes, handler))
        if case .over(let reason) = stage { return write.fail(reason ?? overError) }
        deadlines.limit(write, to: timeout, onAlarm: alarm)
        output.append(write)
        serve()
    }

    /// Nothing more is written once what was to be written before has gone.
    func closeWrite() {
        if case .over = stage { return }
        output.append(StreamOperation(.close))
        serve()
    }

    /// Takes effect when all reads and writes that were asked for before have finished.
    func append(_ barrier: StreamOperation.Barrier) {
        if case .over = stage { return }
        let operation = StreamOperation(.barrier(barrier))
        input.append(operation)
        output.append(operation)
        serve()
    }

    // MARK: Serving

    /// Does what can be done now.
    private func serve() {
        guard isOpen else { return }
        while input.serve(error) {
            // The end of the stream has closed it already.
            if !input.hasEnded { client?.streamDidCloseRead() }
        }
        flush()
        passBarrier()
        settle()
        updateInterest()
    }

    /// Carries out what is first in both queues, and so has nothing left before it.
    private func passBarrier() {
        guard isOpen, !isHeld, let client, case .barrier(let barrier) = input.first?.kind,
            input.first === output.first
        else { return }
        switch barrier {
        case .captureStreams:
            guard let transport = paced?.transport else { return }
            guard let socket = transport.plainSocket else {
                return client.streamDidFail(transport is SecureTransport ? .secureStreams : .noSocket)
            }
            paced = nil
            hasBeenCaptured = true
            client.streamsCaptured(socket, input.takeAll(), isReadClosed: input.isClosed)
        case .secureConnection:
            guard let transport = paced?.transport else { return }
            input.first?.pass()
            // It is secure already, and stays so.
            if transport is SecureTransport { return serve() }
            switch output.state {
            case .open: secure(transport, for: client)
            // The handshake would be taken for what follows the half of a write.
            case .lost(let failure): client.streamDidFail(failure)
            case .closed: client.streamDidFail(.closed(reading: false))
            }
        }
    }

    /// What has arrived and was not read came in the open: it must not pass for content of the secure connection.
    private func secure(_ transport: any LoopTransport, for client: any StreamConversationClient) {
        transport.interest = []
        transport.handler = nil
        let securing = client.secureStream(transport, received: input.takeAll()) { [weak self] result in
            self?.secured(result)
        }
        guard let securing else { return client.streamDidFail(.noTLSProvider) }
        paced = nil
        self.securing = securing
    }

    private func secured(_ result: Result<ConnectionSecurity, TLSFailure>) {
        securing = nil
        switch result {
        case .success(let security):
            attach(security.transport)
            serve()
        case .failure(let failure): client?.streamDidFail(.tls(failure))
        }
    }

    /// Why the connection is lost, where it was secure.
    private func reason(_ error: SystemError) -> StreamFailure {
        switch (paced?.transport as? SecureTransport)?.fault {
        case .failed(let error): .tls(.library(TLSError(error)))
        case .truncated: .truncated
        case nil: .lost(error)
        }
    }

    /// The task is over when both directions are.
    private func settle() {
        guard isOpen, input.isOver, let transport = paced?.transport else { return }
        switch output.state {
        case .open: return
        case .lost(let failure): client?.streamDidFail(failure)
        case .closed:
            paced = nil
            // What still comes must not make the system take back what was sent.
            if input.hasEnded { transport.close() } else { LingeringTransport.keep(transport, sending: []) }
            client?.streamDidEnd()
        }
    }

    private func updateInterest() {
        paced?.watch(reading: takesMore, writing: mayWrite && output.hasMore)
    }

    // MARK: Reading

    private var takesMore: Bool { isOpen && !isHeld && input.takesMore }

    func transportIsReadable(_ transport: any LoopTransport) {
        guard takesMore, let paced else { return updateInterest() }
        let allowance = paced.receivingAllowance()
        if allowance > 0 { receive(atMost: allowance) }
        updateInterest()
    }

    private func takeTurn(receiving allowance: Int) {
        if takesMore {
            receive(atMost: allowance)
            if takesMore { paced?.queueToReceive() }
        }
        updateInterest()
    }

    private func receive(atMost limit: Int) {
        guard let paced else { return }
        do throws(SystemError) {
            guard let bytes = try paced.receive(atMost: limit) else { return }
            if bytes.isEmpty {
                if input.end() { client?.streamDidCloseRead() }
            } else if input.receive(bytes) {
                client?.streamDidReceive(bytes.count)
            }
            serve()
        } catch {
            client?.streamDidFail(reason(error))
        }
    }

    // MARK: Writing

    private var mayWrite: Bool { isOpen && !isHeld }

    func transportIsWritable(_ transport: any LoopTransport) {
        serve()
    }

    private func takeTurn(sending allowance: Int) {
        if mayWrite { flush(atMost: allowance) }
        serve()
    }

    /// Hands to the transport what it takes.
    private func flush() {
        guard mayWrite, let paced else { return }
        let allowance = output.hasMore ? paced.sendingAllowance() : .max
        if allowance > 0 { flush(atMost: min(allowance, Self.bytesPerTurn)) }
    }

    private func flush(atMost limit: Int) {
        var budget = limit
        while let paced {
            switch output.flush(atMost: budget, through: paced.transport, error) {
            case .done:
                return
            case .sent(let count):
                paced.countSent(count)
                client?.streamDidSend(count)
                output.finishWrites(after: count)
                budget -= count
            case .closed:
                paced.transport.shutdownWrite()
                client?.streamDidCloseWrite()
            case .failed(let error):
                // What the server sent before is read first. If there is nothing, reading ends in the same error.
                loseOutput(reason(error))
            }
        }
    }

    /// Nothing can be written any more; what comes can still be read.
    private func loseOutput(_ failure: StreamFailure) {
        guard output.lose(failure) else { return }
        client?.streamDidCloseWrite()
        output.failWrites(error(failure))
    }

    // MARK: Time

    private var pending: [StreamOperation] { input.pending + output.pending }

    private var alarm: StreamDeadlines.Alarm {
        { [weak self] in self?.checkTime() }
    }

    /// Fails what has had its time.
    private func checkTime() {
        for operation in deadlines.expired(among: pending, onAlarm: alarm) where !operation.isOver {
            operation.fail(error(.timedOut(reading: operation.isReading)))
            // The server has its beginning, and would take anything else for its end.
            if operation.sent > 0 { loseOutput(.cutShort) }
        }
        serve()
    }
}
