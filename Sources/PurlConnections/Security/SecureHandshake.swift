package import PurlIO
import Synchronization

/// A TLS handshake over a connected transport.
///
/// A call of its side's may compute for a millisecond, so it is made on a thread of the worker's, one at a time, and
/// the network thread reads and writes in between:
///
/// ```
///    bytes have arrived
///     ┌──────────────┐
///     ▼              │
///  calling ──────► waiting
///     │              │ the connection is lost, or cancelled
///     └──► over ◄────┘
/// ```
///
/// It has no time limit of its own: the request's covers it.
@NetworkActor
package final class SecureHandshake<Agreement: Sendable>: TransportHandler {
    package typealias Completion = @NetworkActor (Result<(SecureTransport, Agreement), HandshakeFailure>) -> Void

    private enum Phase {
        /// The side is another thread's, and the transport is neither read nor written.
        case calling(HandshakeCall, Arrival)
        /// For what the other side sends.
        case waiting(any SecurityConnection<Agreement>)
        case over
    }

    /// What the transport has shown beyond the bytes that the side has taken.
    private enum Arrival {
        case nothing
        /// The end of the stream, or an error.
        case end(SystemError?)
    }

    /// What a call has returned.
    private enum Outcome {
        /// There is no side.
        case unmade(any Error)
        case step(any SecurityConnection<Agreement>, Result<Agreement?, any Error>)
    }

    /// So many times the transport is read before others have their turn.
    private static var readsPerTurn: Int { 16 }

    private let transport: any LoopTransport
    private var ciphertext = CiphertextQueue()
    private var phase = Phase.over
    private let completion: Completion

    /// Starts a handshake. `completion` is called once, never within this call, and never after `cancel`.
    ///
    /// - Parameters:
    ///   - bytes: What has arrived over the transport already. The other side has no reason to have sent anything, and
    ///     whatever it has sent is not taken for content.
    ///   - makeSide: Makes this side, on a thread of the worker's.
    package init(
        over transport: any LoopTransport, received bytes: [UInt8] = [],
        _ makeSide: @escaping @Sendable () throws -> any SecurityConnection<Agreement>, completion: @escaping Completion
    ) {
        self.transport = transport
        self.completion = completion
        transport.handler = self
        call {
            let side: any SecurityConnection<Agreement>
            do { side = try makeSide() } catch { return .unmade(error) }
            bytes.withUnsafeBytes { if !$0.isEmpty { side.receiveCiphertext($0) } }
            return .step(side, Result { try side.handshake() })
        }
    }

    /// Closes the transport and drops the completion. Has no effect when the handshake is over.
    ///
    /// A call that is being made returns by itself, and its side is released then.
    package func cancel() {
        switch phase {
        case .calling(let call, _): call.cancel()
        case .waiting: break
        case .over: return
        }
        close()
    }

    // MARK: Calls

    /// Continues as far as what has arrived allows.
    private func proceed(_ side: any SecurityConnection<Agreement>, _ arrival: Arrival) {
        let side = HandedOver(value: side)
        call(arrival) { .step(side.value, Result { try side.value.handshake() }) }
    }

    /// Makes a call on a thread of the worker's, unless it is cancelled before its turn comes.
    private func call(_ arrival: Arrival = .nothing, _ body: @escaping @Sendable () -> Outcome) {
        let call = HandshakeCall()
        phase = .calling(call, arrival)
        transport.interest = []
        Worker.shared.run(on: .handshakes) {
            call.isCancelled ? nil : HandedOver(value: body())
        } then: { [self] outcome in
            guard case .calling(_, let arrival) = phase, let outcome = outcome?.value else { return }
            take(outcome, arrival)
        }
    }

    private func take(_ outcome: Outcome, _ arrival: Arrival) {
        switch outcome {
        case .unmade(let error): fail(.library(error))
        case .step(let side, .failure(let error)):
            // It may be an alert.
            try? ciphertext.flush(side, into: transport)
            fail(.library(error))
        case .step(let side, .success(let agreement)):
            phase = .waiting(side)
            ciphertext.expectMore()
            guard flush(side) else { return }
            switch (agreement, arrival) {
            case (let agreement?, _):
                phase = .over
                completion(.success((SecureTransport(over: transport, side, ciphertext), agreement)))
            case (nil, .end(let error)): fail(.lost(error))
            case (nil, .nothing): transport.interest = ciphertext.isEmpty ? .read : [.read, .write]
            }
        }
    }

    // MARK: The transport

    /// False when the connection is lost.
    private func flush(_ side: any SecurityConnection<Agreement>) -> Bool {
        do throws(SystemError) {
            try ciphertext.flush(side, into: transport)
            return true
        } catch {
            fail(.lost(error))
            return false
        }
    }

    package func transportIsReadable(_ transport: any LoopTransport) {
        guard case .waiting(let side) = phase else { return }
        var hasArrived = false
        var arrival = Arrival.nothing
        do throws(SystemError) {
            reading: for _ in 0..<Self.readsPerTurn {
                guard let bytes = try transport.receive() else { break reading }
                guard !bytes.isEmpty else {
                    arrival = .end(nil)
                    break reading
                }
                hasArrived = true
                side.receiveCiphertext(bytes)
            }
        } catch {
            arrival = .end(error)
        }
        switch arrival {
        // What came before the end may be an alert that says why.
        case _ where hasArrived: proceed(side, arrival)
        case .end(let error): fail(.lost(error))
        case .nothing: break
        }
    }

    package func transportIsWritable(_ transport: any LoopTransport) {
        guard case .waiting(let side) = phase, flush(side) else { return }
        if ciphertext.isEmpty { transport.interest = .read }
    }

    // MARK: Ends

    private func fail(_ failure: HandshakeFailure) {
        close()
        completion(.failure(failure))
    }

    private func close() {
        phase = .over
        transport.handler = nil
        transport.close()
    }
}

/// One call of a side's, which may wait for its turn.
private final class HandshakeCall: Sendable {
    private let state = Atomic(false)

    var isCancelled: Bool { state.load(ordering: .relaxed) }

    func cancel() { state.store(true, ordering: .relaxed) }
}

/// What one thread hands over to another, and does not use any more until it comes back.
private struct HandedOver<Value>: @unchecked Sendable {
    let value: Value
}
