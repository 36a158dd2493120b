internal import PurlIO

/// A clock that stands still until a test advances it.
///
/// It conforms to the standard library's `Clock`, so code that takes one can be tested in no time: a session's time-outs
/// (set it as the `clock` of a `URLSessionConfiguration` of Purl), and a program's own pauses.
///
/// ```swift
/// let clock = ManualClock()
/// configuration.clock = clock
/// server.route("/deaf", .text("never").stalled(at: .beforeHead, until: gate))
/// // … load it with a session of that configuration …
/// await gate.reached()                // the server has the request, and sends nothing
/// clock.advance(by: .seconds(60))     // timeoutIntervalForRequest is used up: the task fails with timedOut
/// ```
///
/// A time-out that restarts with every byte is measured from the last one. Wait until the code under test has received it,
/// then advance. A clock can be used from any thread, and by several sessions and the program itself at the same time: what
/// counts as a sleeper is a task of the program, not a session's timer.
public final class ManualClock: Clock {
    /// A moment on a manual clock.
    public struct Instant: InstantProtocol, CustomStringConvertible {
        /// The time since the clock was created.
        public let offset: Duration

        /// Creates a moment.
        ///
        /// - Parameter offset: The time since the clock was created.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// The moment after this one.
        ///
        /// - Parameter duration: How long after.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// The time from this moment to another.
        ///
        /// - Parameter other: The other moment.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Whether a moment is before another.
        ///
        /// - Parameters:
        ///   - left: The moment that is to be before.
        ///   - right: The other moment.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }

        /// The offset, in words.
        public var description: String { "\(offset)" }
    }

    private struct State: Sendable {
        /// Who waits for a deadline.
        enum Owner {
            case program
            case session
        }

        var now = Instant(offset: .zero)
        /// Until when each task and each timer sleeps.
        var deadlines: [Int: (moment: Instant, owner: Owner)] = [:]
        var lastSleeper = 0

        /// How many tasks of the program sleep.
        var sleepers: Int { deadlines.values.count { $0.owner == .program } }

        /// Sets the time. Tasks whose deadline has passed no longer count as sleeping, even before they run.
        mutating func advance(to moment: Instant) {
            now = max(now, moment)
            deadlines = deadlines.filter { $0.value.moment > now }
        }
    }

    private let state = Monitor(State())

    /// Creates a clock that shows zero.
    public init() {}

    /// What the clock shows.
    public var now: Instant { state.read(\.now) }

    /// Zero: every duration counts.
    public var minimumResolution: Duration { .zero }

    /// Returns when the clock has been advanced to `deadline` or beyond.
    ///
    /// - Parameters:
    ///   - deadline: When to wake.
    ///   - tolerance: Not used: tasks wake exactly at their deadline.
    /// - Throws: `CancellationError` when the calling task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let owner = TimerSleep.isCurrent ? State.Owner.session : .program
        let sleeper = state.update { state in
            state.lastSleeper += 1
            if deadline > state.now { state.deadlines[state.lastSleeper] = (deadline, owner) }
            return state.lastSleeper
        }
        await state.wait { $0.now >= deadline }
        state.update { $0.deadlines[sleeper] = nil }
        try Task.checkCancellation()
    }

    // MARK: For the test

    /// Advances the clock, and wakes the tasks whose deadline has passed.
    ///
    /// - Parameter duration: By how much; a negative duration counts as zero.
    public func advance(by duration: Duration) {
        state.update { $0.advance(to: $0.now.advanced(by: max(.zero, duration))) }
    }

    /// Advances the clock to the nearest deadline, and wakes the tasks that sleep until then and the timers that are due.
    /// Nothing happens when nothing waits for the clock.
    ///
    /// - Returns: By how much the clock was advanced; `nil` when nothing waits for it.
    @discardableResult
    public func advanceToNextDeadline() -> Duration? {
        state.update { state in
            guard let next = state.deadlines.values.map(\.moment).min() else { return nil }
            let distance = state.now.duration(to: next)
            state.advance(to: next)
            return distance
        }
    }

    /// How many tasks of the program sleep on this clock now. The timers of sessions do not count.
    public var sleepers: Int { state.read(\.sleepers) }

    /// Returns when at least `count` tasks of the program sleep on this clock, at once if they already do. The timers of
    /// sessions, such as a request's time-out, do not count.
    ///
    /// Returns early when the calling task is cancelled.
    ///
    /// - Parameter count: How many tasks to wait for.
    public func waitForSleepers(_ count: Int = 1) async {
        await state.wait { $0.sleepers >= count }
    }

    /// Returns when the clock has at least `count` deadlines, at once if it already has: those of sleeping tasks and those of
    /// sessions' timers.
    ///
    /// Returns early when the calling task is cancelled.
    ///
    /// - Parameter count: How many deadlines to wait for.
    public func waitForDeadlines(_ count: Int = 1) async {
        await state.wait { $0.deadlines.count >= count }
    }
}
