internal import PurlIO

/// The time by which bytes are counted out.
@NetworkActor
protocol RateClock: AnyObject, Sendable {
    var now: MonotonicTime { get }

    /// Runs the action once, that long from now, and never within this call.
    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void)
}

extension EventLoop: RateClock {
    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) {
        schedule(after: delay, action)
    }
}
