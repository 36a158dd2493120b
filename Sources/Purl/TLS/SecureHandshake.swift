internal import PurlIO

/// A TLS handshake over a connected transport.
///
/// It has no time limit of its own: the request's covers it.
@NetworkActor
final class SecureHandshake: TransportHandler {
    typealias Completion = @NetworkActor (Result<(SecureTransport, TLSHandshakeResult), TLSFailure>) -> Void

    /// So many times the transport is read before others have their turn.
    private static let readsPerTurn = 16

    private let transport: any LoopTransport
    private let session: any TLSSession
    private var ciphertext = CiphertextQueue()
    /// `nil` when the handshake is over.
    private var completion: Completion?

    /// Starts a handshake. `completion` is called once, never within this call, and never after `cancel`.
    ///
    /// - Parameter bytes: What has arrived over the transport already. The other side has no reason to have sent anything,
    ///   and whatever it has sent is not taken for content.
    init(
        over transport: any LoopTransport, received bytes: [UInt8] = [], _ session: any TLSSession,
        completion: @escaping Completion
    ) {
        self.transport = transport
        self.session = session
        self.completion = completion
        bytes.withUnsafeBytes { if !$0.isEmpty { session.receive($0) } }
        EventLoop.shared.schedule(after: .zero) { self.start() }
    }

    /// Closes the transport and drops the completion. Has no effect when the handshake is over.
    func cancel() {
        guard completion != nil else { return }
        completion = nil
        transport.handler = nil
        transport.close()
    }

    private func start() {
        guard completion != nil else { return }
        transport.handler = self
        proceed()
    }

    /// Continues as far as what has arrived allows.
    private func proceed() {
        guard completion != nil else { return }
        do {
            let step = try session.handshake()
            ciphertext.expectMore()
            guard flush() else { return }
            switch step {
            case .waiting: transport.interest = ciphertext.isEmpty ? .read : [.read, .write]
            case .done(let result): finish(.success((SecureTransport(over: transport, session, ciphertext), result)))
            }
        } catch {
            // It may be an alert.
            try? ciphertext.flush(session, into: transport)
            fail(.session(TLSError(error)))
        }
    }

    /// False when the connection is lost.
    private func flush() -> Bool {
        do throws(SystemError) {
            try ciphertext.flush(session, into: transport)
            return true
        } catch {
            fail(.lost(error))
            return false
        }
    }

    private func fail(_ failure: TLSFailure) {
        guard completion != nil else { return }
        transport.handler = nil
        transport.close()
        finish(.failure(failure))
    }

    private func finish(_ result: Result<(SecureTransport, TLSHandshakeResult), TLSFailure>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    func transportIsReadable(_ transport: any LoopTransport) {
        var hasArrived = false
        do throws(SystemError) {
            for _ in 0..<Self.readsPerTurn {
                guard let bytes = try transport.receive() else { break }
                guard !bytes.isEmpty else {
                    // What came before may be an alert that says why.
                    if hasArrived { proceed() }
                    return fail(.lost(nil))
                }
                hasArrived = true
                session.receive(bytes)
            }
        } catch {
            if hasArrived { proceed() }
            return fail(.lost(error))
        }
        if hasArrived { proceed() }
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        guard flush() else { return }
        if ciphertext.isEmpty { transport.interest = .read }
    }
}
