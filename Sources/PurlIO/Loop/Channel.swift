/// A descriptor that a loop watches. The channel owns it, and closes it only after the poller has let go of it.
///
/// The loop keeps a channel alive until it is closed, so its owner has to close it.
@NetworkActor final class Channel {
    /// The descriptor; closed with the channel.
    private(set) var descriptor: Descriptor
    /// What to do when something that `interest` asks for happens. Gone once the channel is closed.
    var onReady: (@NetworkActor (Interest) -> Void)?

    private let loop: EventLoop
    private var token: PollToken?
    /// What the poller knows.
    private var watched: Interest = []

    /// Takes over a non-blocking descriptor. Nothing is watched yet.
    init(_ descriptor: consuming Descriptor, loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
        token = loop.register(self)
    }

    /// Whether the channel still has its descriptor.
    var isOpen: Bool { token != nil }

    /// What the channel is told about. Stays empty once the channel is closed.
    var interest: Interest = [] {
        didSet {
            if isOpen { watch() } else { interest = [] }
        }
    }

    /// Unregisters, then closes the descriptor. Nothing happens the second time.
    func close() {
        guard let token else { return }
        interest = []
        self.token = nil
        loop.unregister(token)
        descriptor.close()
        onReady = nil
    }

    /// Unregisters, and gives the descriptor away. `nil` when it has been closed.
    func release() -> Descriptor? {
        guard let token else { return nil }
        interest = []
        self.token = nil
        loop.unregister(token)
        onReady = nil
        return descriptor.take()
    }

    /// The poller found the descriptor ready.
    func deliver(_ readiness: Interest) {
        let wanted = readiness.intersection(interest)
        if !wanted.isEmpty { onReady?(wanted) }
    }

    private func watch() {
        guard let token, interest != watched else { return }
        if loop.change(descriptor.rawValue, token: token, from: watched, to: interest) {
            watched = interest
        } else {
            // The kernel was out of memory for it. Without another try the owner would wait for ever.
            loop.schedule(after: .milliseconds(100)) { [weak self] in self?.watch() }
        }
    }
}
