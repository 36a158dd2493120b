import Foundation
internal import PurlHTTP
internal import PurlIO

/// What goes over a WebSocket connection, from the first call of its user to the last frame.
///
/// Theory of operation: sends and receives wait in queues from the moment the task exists. When the handshake is over,
/// the transfer gives the socket to the conversation and treats it as the source of a response that lasts. From then on
/// ```
/// open ── their close frame ──────────────► closing ── our answer is out ─► over
///      ── close(_:) ── our frame is out ──► closing ── their answer ──────► over
///      ── end of stream, error, violation ───────────────────────────────► over
/// ```
/// `closing` has a limit in time. When it is over, the transfer concludes the task, and what waits is answered with the
/// reason. The socket lingers for a moment, so that the last frame reaches the server.
@NetworkActor
final class WebSocketConversation: Conversation, TransportHandler {
    typealias Receiver = @Sendable (Result<URLSessionWebSocketTask.Message, any Error>) -> Void
    typealias Handler = @Sendable ((any Error)?) -> Void

    enum Stage {
        /// The handshake is not over.
        case waiting
        case open
        /// A close frame has come, or is to go out.
        case closing
        /// With the reason that later calls are told.
        case over(any Error)
    }

    /// The longest wait for the other side's close frame.
    static let closingLimit = Duration.seconds(5)

    var stage = Stage.waiting
    /// Gone once the task is concluded.
    var transfer: WebSocketUpgrade?
    var socket: StreamSocket?
    let heldBytes: Int
    var maximumMessageSize = 1 << 20 {
        didSet { reader?.maximumMessageSize = maximumMessageSize }
    }
    private var closingTimer: LoopTimer?

    /// Where the session limits what it receives and sends in a second.
    var receiving: RateShare?
    var sending: RateShare?

    // Receiving
    var reader: WebSocketReader?
    /// Bytes that had arrived when there was no room for more messages.
    var stash: [UInt8] = []
    var isConsuming = false
    /// Messages that nobody has asked for.
    var held = Queue<URLSessionWebSocketTask.Message>()
    var heldCount = 0
    var receivers: [(ticket: ReceiverTicket?, receiver: Receiver)] = []
    /// What the server's close frame says.
    var receivedClose: WebSocketClose?

    // Sending
    var outgoing = WebSocketOutbox()
    var pings = Queue<(number: UInt64, handler: Handler)>()
    var pingCount: UInt64 = 0
    /// Sending has failed; whatever the server said before is still read.
    var hasLostOutput = false

    /// - Parameter heldBytes: How much of what nobody has asked for is held.
    nonisolated init(heldBytes: Int) {
        self.heldBytes = heldBytes
    }

    // MARK: ResponseSource

    var isRemote: Bool { true }
    var isReused: Bool { false }
    /// Nothing has to come for a long time.
    var awaitsItsOwn: Bool { true }

    var isPaused = false {
        didSet {
            guard isPaused != oldValue else { return }
            resumeReading()
            flush()
        }
    }

    /// The transfer wants no more: says so to the server, as far as there is room, and waits for nothing.
    func abandon() {
        guard isOpen else { return }
        leave(with: outgoing.isAtStartOfFrame ? WebSocketClose() : nil)
    }

    // MARK: Its life

    /// Messages can go both ways, or could until a moment ago.
    var isOpen: Bool {
        switch stage {
        case .open, .closing: true
        case .waiting, .over: false
        }
    }

    var isClosing: Bool {
        if case .closing = stage { return true }
        return false
    }

    /// The handshake is over.
    ///
    /// - Parameter bytes: What the server has sent after it.
    func open(_ socket: StreamSocket, _ agreement: WebSocketHandshake.Agreement, received bytes: [UInt8]) {
        guard case .waiting = stage else { return socket.close() }
        stage = .open
        self.socket = socket
        reader = WebSocketReader(
            role: .client, maximumMessageSize: maximumMessageSize, compression: agreement.compression)
        outgoing.writer = WebSocketWriter(role: .client, compression: agreement.compression)
        socket.handler = self
        if let pool = transfer?.pool {
            receiving = pool.receiveLimit.map { RateShare(of: $0) { [weak self] in self?.takeTurn(receiving: $0) } }
            sending = pool.sendLimit.map { RateShare(of: $0) { [weak self] in self?.takeTurn(sending: $0) } }
        }
        stash = bytes
        resumeReading()
        flush()
    }

    /// Sends a close frame after everything that waits to be sent, and waits for the server's.
    func close(_ close: WebSocketClose) {
        guard case .open = stage else { return }
        stage = .closing
        outgoing.append(.close(close))
        startClosingTimer()
        resumeReading()
        flush()
    }

    /// The task is over: answers everything that waits, and whatever will come.
    func conclude(_ error: (any Error)?) {
        if case .over = stage { return }
        let wasCancelled = (error as? URLError)?.code == .cancelled
        let reason = error ?? TransferFailure.webSocket(.closed).urlError(for: transfer?.failingURL)
        leave(with: nil)
        stage = .over(reason)
        if wasCancelled { dropHeld() }
        transfer = nil
        reader = nil
        for handler in outgoing.removeAll() { handler(reason) }
        while let ping = pings.first {
            pings.removeFirst()
            ping.handler(reason)
        }
        let waiting = receivers
        receivers = []
        for entry in waiting { entry.receiver(.failure(reason)) }
    }

    // MARK: Ends

    /// The closing handshake is over, or as much of it as there will be.
    func finish() {
        guard isOpen, let transfer else { return }
        leave(with: nil)
        transfer.didClose(receivedClose)
    }

    /// The conversation cannot go on.
    func fail(_ failure: WebSocketFailure) {
        guard isOpen, let transfer else { return }
        var status = 1006
        var close: WebSocketClose?
        if case .violation(let error) = failure {
            // RFC 6455 §7.1.7
            status = Int(error.closeCode)
            if outgoing.isAtStartOfFrame { close = WebSocketClose(code: error.closeCode) }
        }
        leave(with: close)
        transfer.didFail(failure, status: status)
    }

    /// Lets go of the socket, after one more frame.
    private func leave(with close: WebSocketClose?) {
        closingTimer?.cancel()
        closingTimer = nil
        guard let socket else { return }
        self.socket = nil
        if let close, !outgoing.hasWrittenClose { outgoing.writeLast(close) }
        LingeringSocket.keep(socket, sending: hasLostOutput ? [] : outgoing.unsent)
    }

    func startClosingTimer() {
        guard closingTimer == nil else { return }
        let limit = min(transfer?.closingLimit ?? Self.closingLimit, Self.closingLimit)
        closingTimer = EventLoop.shared.schedule(after: limit) { [weak self] in
            guard let self else { return }
            if self.receivedClose == nil { self.fail(.closeUnanswered) } else { self.finish() }
        }
    }

    func updateInterest() {
        guard let socket, socket.isOpen else { return }
        var interest: Interest = []
        if takesMore, receiving?.isInLine != true { interest.insert(.read) }
        if mayWrite, outgoing.hasMore, sending?.isInLine != true { interest.insert(.write) }
        if socket.interest != interest { socket.interest = interest }
    }
}
