package import PurlIO

/// A session's limits on the bytes of all its connections; `nil` where it has none.
package struct RateLimits: Sendable {
    package var receiving: RateLimit?
    package var sending: RateLimit?

    package init(receiving: RateLimit? = nil, sending: RateLimit? = nil) {
        self.receiving = receiving
        self.sending = sending
    }
}

/// A transport whose bytes are counted against the session's limits.
///
/// Its owner asks for an allowance, moves no more bytes than that, and has them counted. Without an allowance the
/// transport is not watched in that direction; the owner is called when its turn has come.
@NetworkActor
package struct PacedTransport {
    package let transport: any LoopTransport
    private var receiving: RateLimitMember?
    private var sending: RateLimitMember?

    package init(_ transport: any LoopTransport) {
        self.transport = transport
    }

    /// Counts the bytes from now on.
    ///
    /// - Parameters:
    ///   - onReceivingTurn: Called with an allowance after a wait for one.
    ///   - onSendingTurn: The same for sending.
    package mutating func setLimits(
        _ limits: RateLimits, onReceivingTurn: @escaping (Int) -> Void, onSendingTurn: @escaping (Int) -> Void
    ) {
        receiving = limits.receiving.map { RateLimitMember(of: $0, onTurn: onReceivingTurn) }
        sending = limits.sending.map { RateLimitMember(of: $0, onTurn: onSendingTurn) }
    }

    /// The session's limit keeps the bytes waiting, not the other side.
    var awaitsTurn: Bool { receiving?.isQueued == true || sending?.isQueued == true }

    /// Has the owner's handler called for what the owner wants and the limits allow.
    package func watch(reading: Bool, writing: Bool) {
        guard transport.isOpen else { return }
        var interest: TransportInterest = []
        if reading, receiving?.isQueued != true { interest.insert(.read) }
        if writing, sending?.isQueued != true { interest.insert(.write) }
        if transport.interest != interest { transport.interest = interest }
    }

    // MARK: Receiving

    /// How many bytes may be received now. When there are none, the turn comes later.
    package func receivingAllowance() -> Int { receiving?.ask() ?? .max }

    /// Bytes that have arrived, as ``LoopTransport/receive(atMost:)`` takes them, and counts them.
    package func receive(atMost limit: Int) throws(SystemError) -> UnsafeRawBufferPointer? {
        let bytes = try transport.receive(atMost: limit)
        if let receiving, let bytes { receiving.take(bytes.count) }
        return bytes
    }

    /// That many bytes were received in another way.
    func countReceived(_ count: Int) {
        receiving?.take(count)
    }

    /// Queues for the next turn when this one is used up: the transport need not report first that there is more.
    package func queueToReceive() {
        if let receiving, receiving.hasUsedTurn { _ = receiving.ask() }
    }

    // MARK: Sending

    /// How many bytes may be sent now. When there are none, the turn comes later.
    package func sendingAllowance() -> Int { sending?.ask() ?? .max }

    /// That many bytes were sent.
    package func countSent(_ count: Int) {
        sending?.take(count)
    }

    /// Queues for the next turn when this one is used up.
    func queueToSend() {
        if let sending, sending.hasUsedTurn { _ = sending.ask() }
    }
}
