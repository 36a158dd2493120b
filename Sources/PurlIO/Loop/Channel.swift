/// A descriptor that a loop watches. The channel owns it, and closes it only after the poller has stopped watching it.
///
/// The loop keeps a channel alive until it is closed, so its owner must close it.
@NetworkActor final class Channel {
    /// The descriptor; closed with the channel.
    private(set) var descriptor: Descriptor

    private let loop: EventLoop
    private var onReady: (@NetworkActor (TransportInterest) -> Void)?
    private var token: PollToken?
    private var wanted: TransportInterest = []
    /// The interest that the poller was last given.
    private var watched: TransportInterest = []

    /// Takes over a non-blocking descriptor. Nothing is watched yet.
    init(_ descriptor: consuming Descriptor, loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
        token = loop.register(self)
    }

    /// Whether the channel still has its descriptor.
    var isOpen: Bool { token != nil }

    /// The events that the handler is called for. Stays empty once the channel is closed.
    var interest: TransportInterest {
        get { wanted }
        set {
            guard isOpen else { return }
            wanted = newValue
            watch()
        }
    }

    /// Has `handler` called with those of the events in ``interest`` that happen, in place of an earlier handler. The
    /// channel releases it when it is closed.
    func setHandler(_ handler: @escaping @NetworkActor (TransportInterest) -> Void) {
        onReady = handler
    }

    /// Unregisters, then closes the descriptor. Has no effect the second time.
    func close() {
        guard let token else { return }
        interest = []
        self.token = nil
        loop.unregister(token)
        descriptor.close()
        onReady = nil
    }

    /// Unregisters, and gives the descriptor to the caller. `nil` when it has been closed.
    func release() -> Descriptor? {
        guard let token else { return nil }
        interest = []
        self.token = nil
        loop.unregister(token)
        onReady = nil
        return descriptor.take()
    }

    /// Handles the poller's event: the descriptor is ready.
    func deliver(_ readiness: TransportInterest) {
        let events = readiness.intersection(wanted)
        if !events.isEmpty { onReady?(events) }
    }

    private func watch() {
        guard let token, wanted != watched else { return }
        if loop.change(descriptor.rawValue, token: token, from: watched, to: wanted) {
            watched = wanted
        } else {
            // The kernel had no memory for it. Without another try the owner would wait for ever.
            loop.schedule(after: .milliseconds(100)) { [weak self] in self?.watch() }
        }
    }
}
