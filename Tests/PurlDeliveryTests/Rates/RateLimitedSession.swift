import Foundation
import PurlIO
import PurlTesting

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

/// A session whose limits use a manual clock.
struct RateLimitedSession {
    static let rate = 64_000

    let clock = ManualRateClock()
    let witness: Witness
    let sandbox: Sandbox
    let session: URLSession

    init(
        _ witness: Witness = Witness(), receives: Int? = nil, sends: Int? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws {
        self.witness = witness
        sandbox = Sandbox()
        let configuration = sandbox.configuration(change)
        configuration.limits.bytesReceivedPerSecond = receives
        configuration.limits.bytesSentPerSecond = sends
        var values = configuration.snapshot
        values.rateClock = clock
        session = sandbox.session(of: URLSessionConfiguration(values), witness)
    }

    /// Advances the clock until `count` tasks have completed, and calls `check` after each step.
    func run(until count: Int = 1, _ check: (_ allowed: Int) -> Void = { _ in }) async {
        while witness.completions < count, !Task.isCancelled {
            await clock.advance(milliseconds: 10)
            check(await clock.allowed(at: Self.rate))
        }
    }
}

/// A clock that stands still until the test advances it.
@NetworkActor
final class ManualRateClock: RateClock {
    private(set) var now = MonotonicTime(nanoseconds: 0)
    private var sleepers: [(at: MonotonicTime, action: @NetworkActor () -> Void)] = []

    nonisolated init() {}

    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) {
        sleepers.append((now + delay, action))
    }

    /// Advances the time, and runs the actions that are due.
    func advance(milliseconds: Int) {
        let end = now + .milliseconds(milliseconds)
        while let next = sleepers.indices.min(by: { sleepers[$0].at < sleepers[$1].at }), sleepers[next].at <= end {
            let sleeper = sleepers.remove(at: next)
            now = max(now, sleeper.at)
            sleeper.action()
        }
        now = end
    }

    /// The most bytes that a bucket of this rate, full at the beginning, has allowed by now.
    func allowed(at rate: Int) -> Int {
        max(2, rate / 16) + Int(Double(rate) * Double(now.nanoseconds) / 1_000_000_000)
    }
}
