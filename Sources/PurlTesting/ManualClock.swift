/// A clock that stands still until a test moves it on.
///
/// It conforms to the standard library's `Clock`, so whatever takes one can be tested in no time: a session's time-outs
/// (set it as the `clock` of a `URLSessionConfiguration` of Purl), and the pauses of a program's own.
///
/// ```swift
/// let clock = ManualClock()
/// configuration.clock = clock
/// server.route("/deaf", .text("never").stalled(at: .beforeHead, until: gate))
/// // … load it with a session of that configuration …
/// await gate.reached()                // the server has the request, and says nothing
/// clock.advance(by: .seconds(60))     // timeoutIntervalForRequest is used up: the task fails with timedOut
/// ```
///
/// A limit that begins anew with every byte is measured from the last one. Wait until the code under test has seen it, then
/// advance. A clock can be used from any thread, and by several sessions at the same time.
public final class ManualClock: Clock {
    /// A moment on a manual clock.
    public struct Instant: InstantProtocol, CustomStringConvertible {
        /// The time since the clock was made.
        public let offset: Duration

        /// The moment at this distance from the clock's making.
        public init(offset: Duration) {
            self.offset = offset
        }

        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
        public var description: String { "\(offset)" }
    }

    fileprivate struct State: Sendable {
        var now = Instant(offset: .zero)
        /// Until when each of those who sleep does.
        var deadlines: [Int: Instant] = [:]
        var lastSleeper = 0
    }

    private let state = Watched(State())

    /// A clock at zero.
    public init() {}

    /// What the clock shows.
    public var now: Instant { state.read(\.now) }

    /// Any distance counts.
    public var minimumResolution: Duration { .zero }

    /// Returns when the clock has been moved to `deadline` or beyond.
    ///
    /// - Throws: `CancellationError` when the calling task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let sleeper = state.update { state in
            state.lastSleeper += 1
            if deadline > state.now { state.deadlines[state.lastSleeper] = deadline }
            return state.lastSleeper
        }
        await state.wait { $0.now >= deadline }
        state.update { $0.deadlines[sleeper] = nil }
        try Task.checkCancellation()
    }

    // MARK: For the test

    /// Moves the clock on, and wakes whoever has slept long enough.
    public func advance(by duration: Duration) {
        state.update { $0.moveOn(to: $0.now.advanced(by: max(.zero, duration))) }
    }

    /// Moves the clock on to the moment at which the first of those who sleep wakes, and wakes it, with all others that
    /// sleep until then. Nothing happens when nobody sleeps.
    ///
    /// - Returns: By how much the clock was moved; `nil` when nobody sleeps.
    @discardableResult
    public func advanceToNextDeadline() -> Duration? {
        state.update { state in
            guard let next = state.deadlines.values.min() else { return nil }
            let distance = state.now.duration(to: next)
            state.moveOn(to: next)
            return distance
        }
    }

    /// How many sleep on this clock now.
    public var sleepers: Int { state.read(\.deadlines.count) }

    /// Returns when at least `count` sleep on this clock, at once if they already do.
    ///
    /// Returns early when the calling task is cancelled.
    public func waitForSleepers(_ count: Int = 1) async {
        await state.wait { $0.deadlines.count >= count }
    }
}

extension ManualClock.State {
    /// Whoever wakes counts no longer as asleep, even before its task runs.
    fileprivate mutating func moveOn(to moment: ManualClock.Instant) {
        now = max(now, moment)
        deadlines = deadlines.filter { $0.value > now }
    }
}
