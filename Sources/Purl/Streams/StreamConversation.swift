import Foundation
internal import PurlIO

/// What goes over a stream task's connection, from the first call of its user to the last byte.
///
/// Theory of operation: reads and writes wait in a queue each from the moment the task exists, and are served in order.
/// When the connection is there, the transfer gives the socket to the conversation and treats it as the source of a
/// response that lasts. From then on the two directions end each by itself:
/// ```
/// reading ── end of stream, all of it taken ──► closed          writing ── close in its turn ──► closed
///         ── close in its turn ───────────────► closed                  ── error ──────────────► lost
/// ```
/// The task is over when both have ended, when a read finds the connection broken, or when the streams are captured.
/// Then what waits is answered with the reason. What closes a direction, and what captures the streams, waits in the
/// queues like anything else; the latter stands in both, and comes about when it is first in both.
@NetworkActor
final class StreamConversation: Conversation, TransportHandler {
    enum Stage {
        /// There is no connection yet.
        case waiting
        case open
        /// With the reason that later calls are told; `nil` after an end in order.
        case over((any Error)?)
    }

    /// A direction, as far as writing goes.
    enum Output {
        case open
        /// Closed by the user, after everything that was to be sent.
        case closed
        /// With the reason that later writes are told.
        case lost(StreamFailure)
    }

    private(set) var stage = Stage.waiting
    /// The delegate has the streams.
    private(set) var hasBeenCaptured = false
    /// What stands for the connection in errors and metrics, where no request does.
    let request: URLRequest?
    /// Gone once the task is concluded.
    var transfer: StreamUpgrade?
    var socket: StreamSocket?
    /// How much of what nobody has asked for is held.
    let heldLimit: Int

    // Reading
    var reads = Queue<StreamOperation>()
    /// Bytes that nobody has taken, from `heldStart` on.
    var held: [UInt8] = []
    var heldStart = 0
    /// The server has ended its stream.
    var hasEnded = false
    /// The user wants nothing more of it.
    var isReadClosed = false
    var receiving: RateShare?

    // Writing
    var writes = Queue<StreamOperation>()
    var output = Output.open
    var sending: RateShare?

    // Time
    let clock: SessionClock
    var alarm: (timer: SessionTimer, moment: MonotonicTime)?
    /// When time stopped counting: the task has not begun, or is suspended.
    var stopped: MonotonicTime?

    nonisolated init(_ request: URLRequest?, _ settings: URLSessionConfiguration.Values) {
        self.request = request
        heldLimit = settings.maximumBufferedBytesPerTask
        clock = settings.clock
    }

    // MARK: ResponseSource

    var isRemote: Bool { true }
    var isReused: Bool { false }
    /// Nothing has to come for a long time.
    var awaitsItsOwn: Bool { true }

    /// Nothing is read or written, and no time passes.
    var isPaused = true {
        didSet {
            guard isPaused != oldValue else { return }
            isPaused ? stopTime() : startTime()
            serve()
        }
    }

    /// The transfer wants no more.
    func abandon() {
        socket?.close()
        socket = nil
    }

    // MARK: Its life

    var isOpen: Bool {
        if case .open = stage { return socket != nil }
        return false
    }

    /// The connection is there.
    ///
    /// - Parameter bytes: What has come over it already.
    func open(_ socket: StreamSocket, received bytes: [UInt8], for transfer: StreamUpgrade) {
        guard case .waiting = stage else { return socket.close() }
        stage = .open
        self.transfer = transfer
        self.socket = socket
        socket.handler = self
        let pool = transfer.pool
        receiving = pool.receiveLimit.map { RateShare(of: $0) { [weak self] in self?.takeTurn(receiving: $0) } }
        sending = pool.sendLimit.map { RateShare(of: $0) { [weak self] in self?.takeTurn(sending: $0) } }
        held = bytes
        if !bytes.isEmpty { transfer.didReceive(bytes.count) }
        serve()
    }

    /// Does what can be done now.
    func serve() {
        guard isOpen else { return }
        serveReads()
        flush()
        passBarrier()
        settle()
        updateInterest()
    }

    /// What stands first in both queues has nothing left before it.
    private func passBarrier() {
        guard isOpen, !isPaused, let transfer, case .barrier(let barrier) = firstRead?.kind, firstRead === firstWrite
        else { return }
        switch barrier {
        case .captureStreams:
            guard let socket else { return }
            self.socket = nil
            hasBeenCaptured = true
            let bytes = [UInt8](held[heldStart...])
            clearHeld()
            transfer.didCapture(socket, after: bytes, isReadClosed: isReadClosed)
        case .secureConnection:
            transfer.didFail(.secureConnection)
        }
    }

    /// The task is over when both directions are.
    private func settle() {
        guard isOpen, isReadClosed || (hasEnded && heldCount == 0), let socket else { return }
        switch output {
        case .open: return
        case .lost(let failure): transfer?.didFail(failure)
        case .closed:
            self.socket = nil
            // What still comes must not make the system take back what was sent.
            if hasEnded { socket.close() } else { LingeringSocket.keep(socket, sending: []) }
            transfer?.didEnd()
        }
    }

    /// The connection broke.
    func lose(_ error: SystemError) {
        transfer?.didFail(.lost(error))
    }

    func conclude(_ error: (any Error)?) {
        if case .over = stage { return }
        stage = .over(error)
        abandon()
        alarm?.timer.cancel()
        alarm = nil
        if (error as? URLError)?.code == .cancelled { clearHeld() }
        let reason = error ?? overError
        transfer = nil
        while let operation = reads.first {
            reads.removeFirst()
            operation.fail(reason)
        }
        while let operation = writes.first {
            writes.removeFirst()
            operation.fail(reason)
        }
    }

    /// The error as users see it.
    func error(_ failure: StreamFailure) -> URLError {
        TransferFailure.stream(failure).urlError(for: transfer?.failingURL ?? request?.url)
    }

    /// Why nothing goes over the stream after an end in order.
    var overError: any Error { error(hasBeenCaptured ? .captured : .over) }

    func updateInterest() {
        guard let socket, socket.isOpen else { return }
        var interest: Interest = []
        if takesMore, receiving?.isInLine != true { interest.insert(.read) }
        if mayWrite, sending?.isInLine != true, hasMoreToSend { interest.insert(.write) }
        if socket.interest != interest { socket.interest = interest }
    }
}
