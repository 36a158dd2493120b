/// Reports to Purl that a ``Transport`` can be read or written again.
public final class TransportSignal: Sendable {
    private let action: @Sendable (TransportInterest) -> Void

    /// A signal that calls `action` in the caller's thread.
    package init(_ action: @escaping @Sendable (TransportInterest) -> Void) {
        self.action = action
    }

    /// Something may have arrived, or there may be room. From any thread, also within a call of the transport: Purl asks
    /// again in the next turn of its loop at the earliest.
    public func raise(_ events: TransportInterest) {
        action(events)
    }
}
