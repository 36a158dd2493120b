internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// The rest of a response that the delegate is asked about, because it redirects or wants credentials.
///
/// It is received while the delegate makes up its mind, so that the connection is free for others: the delegate may need one
/// to find its answer, a fresh token for instance. What comes is kept until the transaction continues, for it may be the
/// result. Once much has been kept the connection waits, as it does for a slow consumer.
@NetworkActor
final class ResponseSetAside: ResponseSource, ExchangeClient {
    private enum Sender {
        case sending(HTTPConnection)
        /// The connection may be another exchange's already.
        case finished
        case failed(ExchangeFailure)
        /// The transaction knows how it ended, or does not want to.
        case gone
    }

    /// How many bytes are kept before the connection waits.
    private static let limit = 65_536

    private weak var transaction: Transaction?
    private var sender: Sender
    private var kept: [UInt8] = []
    /// The delegate has not answered yet, or what receives the body is full.
    private var isHeld = true
    let isReused: Bool

    init(from connection: HTTPConnection, for transaction: Transaction) {
        self.transaction = transaction
        sender = .sending(connection)
        isReused = connection.isReused
        connection.report(to: self)
    }

    /// Begins to receive, which may be the end already.
    func receive() {
        updateFlow()
    }

    // MARK: ResponseSource

    var isRemote: Bool { true }

    var mayBeIdle: Bool {
        if case .sending(let connection) = sender { connection.mayBeIdle } else { false }
    }

    var isPaused: Bool {
        get { isHeld }
        set {
            isHeld = newValue
            deliver()
        }
    }

    func abandon() {
        transaction = nil
        guard case .sending(let connection) = sender else { return }
        sender = .gone
        connection.abandon()
    }

    func surrender() -> (transport: any LoopTransport, surplus: [UInt8])? {
        guard case .sending(let connection) = sender, let (transport, surplus) = connection.surrender() else {
            return nil
        }
        sender = .gone
        transaction = nil
        return (transport, kept + surplus)
    }

    // MARK: Delivery

    private func deliver() {
        while !isHeld, !kept.isEmpty {
            let bytes = kept
            kept = []
            bytes.withUnsafeBytes { transaction?.exchange(self, didReceive: $0) }
        }
        guard !isHeld else { return updateFlow() }
        switch sender {
        case .sending:
            updateFlow()
        case .finished:
            sender = .gone
            transaction?.exchangeDidFinish(self)
        case .failed(let failure):
            sender = .gone
            transaction?.exchange(self, didFailWith: failure)
        case .gone:
            break
        }
    }

    private func updateFlow() {
        guard case .sending(let connection) = sender else { return }
        connection.isPaused = isHeld && kept.count >= Self.limit
    }

    // MARK: ExchangeClient

    func exchangeMadeProgress(_ source: any ResponseSource) {
        transaction?.exchangeMadeProgress(self)
    }

    func exchange(_ source: any ResponseSource, didReceive bytes: UnsafeRawBufferPointer) {
        guard isHeld || !kept.isEmpty else {
            transaction?.exchange(self, didReceive: bytes)
            return
        }
        kept.append(contentsOf: bytes)
        deliver()
    }

    func exchangeDidFinish(_ source: any ResponseSource) {
        sender = .finished
        deliver()
    }

    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure) {
        sender = .failed(failure)
        deliver()
    }

    // A response of this kind ends the sending of the request, and nothing but its body follows.

    func exchange(_ source: any ResponseSource, didSendBodyBytes count: Int) {}
    func exchange(_ source: any ResponseSource, didReceiveInterim head: ResponseHead) {}
    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming) {}
    func exchange(_ source: any ResponseSource, didMoveContent count: Int) {}
    func exchange(
        _ source: any ResponseSource, didSwitchTo transport: any LoopTransport, with head: ResponseHead,
        surplus: [UInt8]
    ) {
        transport.close()
    }
}
