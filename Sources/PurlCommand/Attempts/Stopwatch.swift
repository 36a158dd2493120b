/// The time that a transfer takes, with its retries, and without the time in which its bytes are read once more for a digest.
struct Stopwatch<TimeSource: Clock> where TimeSource.Duration == Duration {
    private let clock: TimeSource
    /// The time up to the last pause.
    private var sum = Duration.zero
    /// When it began to run; `nil` during a pause.
    private var start: TimeSource.Instant?

    /// Runs from now on.
    init(_ clock: TimeSource) {
        self.clock = clock
        start = clock.now
    }

    /// The time in which it ran.
    var elapsed: Duration { sum + (start?.duration(to: clock.now) ?? .zero) }

    mutating func pause() {
        sum = elapsed
        start = nil
    }

    /// Runs again. It does nothing where the stopwatch runs already.
    mutating func resume() {
        start = start ?? clock.now
    }
}
