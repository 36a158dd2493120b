internal import PurlIO

/// The time by which bytes are counted out.
@NetworkActor
protocol RateClock: Sendable {
    var now: MonotonicTime { get }

    /// Runs the action once, that long from now, and never within this call.
    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void)
}

extension SessionClock: RateClock {
    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) {
        _ = schedule(after: delay, action)
    }
}
