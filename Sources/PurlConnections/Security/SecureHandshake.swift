package import PurlIO

/// A TLS handshake over a connected transport.
///
/// It has no time limit of its own: the request's covers it.
@NetworkActor
package final class SecureHandshake<Agreement>: TransportHandler {
    package typealias Completion = @NetworkActor (Result<(SecureTransport, Agreement), HandshakeFailure>) -> Void

    /// So many times the transport is read before others have their turn.
    private static var readsPerTurn: Int { 16 }

    private let transport: any LoopTransport
    private let side: any SecurityConnection<Agreement>
    private var ciphertext = CiphertextQueue()
    /// `nil` when the handshake is over.
    private var completion: Completion?

    /// Starts a handshake. `completion` is called once, never within this call, and never after `cancel`.
    ///
    /// - Parameter bytes: What has arrived over the transport already. The other side has no reason to have sent anything,
    ///   and whatever it has sent is not taken for content.
    package init(
        over transport: any LoopTransport, received bytes: [UInt8] = [], _ side: any SecurityConnection<Agreement>,
        completion: @escaping Completion
    ) {
        self.transport = transport
        self.side = side
        self.completion = completion
        bytes.withUnsafeBytes { if !$0.isEmpty { side.receiveCiphertext($0) } }
        EventLoop.shared.schedule(after: .zero) { self.start() }
    }

    /// Closes the transport and drops the completion. Has no effect when the handshake is over.
    package func cancel() {
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
            let agreement = try side.handshake()
            ciphertext.expectMore()
            guard flush() else { return }
            guard let agreement else {
                transport.interest = ciphertext.isEmpty ? .read : [.read, .write]
                return
            }
            finish(.success((SecureTransport(over: transport, side, ciphertext), agreement)))
        } catch {
            // It may be an alert.
            try? ciphertext.flush(side, into: transport)
            fail(.library(error))
        }
    }

    /// False when the connection is lost.
    private func flush() -> Bool {
        do throws(SystemError) {
            try ciphertext.flush(side, into: transport)
            return true
        } catch {
            fail(.lost(error))
            return false
        }
    }

    private func fail(_ failure: HandshakeFailure) {
        guard completion != nil else { return }
        transport.handler = nil
        transport.close()
        finish(.failure(failure))
    }

    private func finish(_ result: Result<(SecureTransport, Agreement), HandshakeFailure>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    package func transportIsReadable(_ transport: any LoopTransport) {
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
                side.receiveCiphertext(bytes)
            }
        } catch {
            if hasArrived { proceed() }
            return fail(.lost(error))
        }
        if hasArrived { proceed() }
    }

    package func transportIsWritable(_ transport: any LoopTransport) {
        guard flush() else { return }
        if ciphertext.isEmpty { transport.interest = .read }
    }
}
