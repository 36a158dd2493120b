/// One action of the loop in the future.
@NetworkActor package final class LoopTimer {
    /// Where the heap holds it; nil before and after.
    var position: Int?

    private let loop: EventLoop
    private var action: (@NetworkActor () -> Void)?

    init(loop: EventLoop, action: @escaping @NetworkActor () -> Void) {
        self.loop = loop
        self.action = action
    }

    /// The action will not run any more; what it captured is released. Nothing happens when it has run.
    package func cancel() {
        action = nil
        loop.forget(self)
    }

    /// Runs the action, once.
    func fire() {
        let action = action
        self.action = nil
        action?()
    }
}
