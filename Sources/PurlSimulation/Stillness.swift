/// For how long a simulation has been at the same step, by the real clock.
struct Stillness {
    /// What one question adds at most. They come once a second; where more has passed the whole process was stopped, in a
    /// debugger or by Ctrl-Z, and the program could not continue.
    private static let mostOfAQuestion = Duration.seconds(2)

    private var step = 0
    private var asked: ContinuousClock.Instant
    private var duration = Duration.zero

    init(from start: ContinuousClock.Instant = .now) {
        asked = start
    }

    /// - Parameter step: The step at which the simulation is now.
    mutating func of(_ step: Int, at now: ContinuousClock.Instant) -> Duration {
        duration = step == self.step ? duration + min(now - asked, Self.mostOfAQuestion) : .zero
        (self.step, asked) = (step, now)
        return duration
    }
}
