internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What goes over a connection in place of a response, as long as both sides like.
@NetworkActor
protocol Conversation: ResponseSource {
    /// The task is over: answers everything that waits, and all later calls.
    func conclude(_ error: (any Error)?)
}

/// Identifies a call that waits for bytes or a message, so that it can be cancelled.
@NetworkActor
final class ReceiveToken: Sendable {
    /// May be set before the call waits.
    private(set) var isCancelled = false

    nonisolated init() {}

    func cancel() { isCancelled = true }
}

/// A connection that has switched to another protocol, before the task's delegate has decided what to do with it.
///
/// It is the source of a response without a body, and reports the end of that when nothing holds it back. Then the
/// connection is closed, unless it has been surrendered.
@NetworkActor
final class SwitchedConnection: ResponseSource {
    private var transport: (any LoopTransport)?
    private let surplus: [UInt8]
    private weak var client: (any ExchangeClient)?
    private var isHeld = false

    init(_ transport: any LoopTransport, _ surplus: [UInt8], client: any ExchangeClient) {
        self.transport = transport
        self.surplus = surplus
        self.client = client
    }

    var isRemote: Bool { true }
    var isReused: Bool { false }
    var mayBeIdle: Bool { false }

    var isPaused: Bool {
        get { isHeld }
        set {
            let wasHeld = isHeld
            isHeld = newValue
            if wasHeld { endUnlessPaused() }
        }
    }

    func endUnlessPaused() {
        guard !isHeld, transport != nil else { return }
        abandon()
        client?.exchangeDidFinish(self)
    }

    func abandon() {
        transport?.close()
        transport = nil
    }

    func surrender() -> (transport: any LoopTransport, surplus: [UInt8])? {
        guard let transport else { return nil }
        self.transport = nil
        return (transport, surplus)
    }
}
