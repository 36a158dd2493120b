import PurlIO

@testable import Purl

/// A clock that stands still until its test moves it.
@NetworkActor
final class HandClock: RateClock {
    private(set) var now = MonotonicTime(nanoseconds: 0)
    private var sleepers: [(at: MonotonicTime, action: @NetworkActor () -> Void)] = []

    nonisolated init() {}

    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) {
        sleepers.append((now + delay, action))
    }

    /// Moves on, and wakes on the way whoever wants to be woken.
    func advance(milliseconds: Int) {
        let end = now + .milliseconds(milliseconds)
        while let next = sleepers.indices.min(by: { sleepers[$0].at < sleepers[$1].at }), sleepers[next].at <= end {
            let sleeper = sleepers.remove(at: next)
            now = max(now, sleeper.at)
            sleeper.action()
        }
        now = end
    }

    /// What a bucket of this rate, full at the beginning, has let go by now at most.
    func allowed(at rate: Int) -> Int {
        max(2, rate / 16) + Int(Double(rate) * Double(now.nanoseconds) / 1_000_000_000)
    }
}
