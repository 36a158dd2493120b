/// How long something has taken so far.
struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    /// The time since it was made.
    var elapsed: Duration { ContinuousClock.now - start }
}
