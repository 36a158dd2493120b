/// Follows one transfer's counts: knows its rate, and which line is due.
struct ProgressFollower {
    /// The counts of the last look, with the rate.
    private(set) var progress: TransferProgress

    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var meter = RateMeter()
    private var lines: ProgressLines

    /// - Parameter beginning: Where the transfer begins or goes on.
    init(_ beginning: TransferProgress) {
        progress = beginning
        lines = ProgressLines(from: beginning)
        start = clock.now
        meter.note(beginning.received, at: .zero)
    }

    /// Takes the counts of this moment. Returns the line that is due, if one is.
    mutating func look(at counts: TransferProgress) -> String? {
        meter.note(counts.received, at: clock.now - start)
        progress = counts
        progress.bytesPerSecond = meter.bytesPerSecond
        return lines.line(progress)
    }
}
