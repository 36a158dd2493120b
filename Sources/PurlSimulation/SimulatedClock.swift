/// The clock of a simulation, for a program that is given its clock.
///
/// ```swift
/// /// Asks again and again until there is news.
/// @Sendable func news(from url: URL, clock: some Clock<Duration>) async throws -> Data {
///     while true {
///         let (data, _) = try await URLSession.shared.data(from: url)
///         if !data.isEmpty { return data }
///         try await clock.sleep(for: .seconds(600))
///     }
/// }
///
/// try Simulation(17).run { world in
///     let url = world.server("news.example").route("/", .sequence([.text(""), .text("news")]))
///     let clock: SimulatedClock = world.clock
///     _ = try await news(from: url, clock: clock)     // ten minutes, which take no time
/// }
/// ```
///
/// It stands still while a job runs, and it is used in its simulation alone.
public struct SimulatedClock: Clock, Sendable {
    /// A moment of a simulation.
    public struct Instant: InstantProtocol {
        fileprivate let elapsed: Duration

        /// The moment a duration later.
        ///
        /// - Parameter duration: How much later; an earlier moment where it is negative.
        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }

        /// How much later another moment is.
        ///
        /// - Parameter other: The other moment.
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }

        /// Whether a moment comes before another one.
        public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.elapsed < rhs.elapsed }
    }

    private let scheduler: Scheduler

    init(_ scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    /// The moment at which the simulation is.
    public var now: Instant { Instant(elapsed: scheduler.elapsed) }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until a moment; for no time where it is over.
    ///
    /// - Parameters:
    ///   - deadline: The moment.
    ///   - tolerance: Ignored: the clock is never late.
    /// - Throws: `CancellationError` when the calling task is cancelled first, or when the simulation is over.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await scheduler.sleep(for: max(.zero, now.duration(to: deadline)))
    }
}
