/// Decides when it is written down how far a sink has come, so that a process that is killed loses little.
///
/// A checkpoint is due after 512 KiB, but as a rule no sooner than nine times what the last ones took, so that making
/// bytes safe takes no more than a tenth of the time; and after a second in any case.
struct CheckpointSchedule {
    private static let interval = Duration.seconds(1)
    private static let bytes = 1 << 19
    /// On a disk that is slow for good, a smaller part of the time is left rather than more bytes lost.
    private static let longestRest = Duration.milliseconds(250)

    private var unsaved = 0
    private var start = ContinuousClock.now
    private var end = ContinuousClock.now
    private var rest = Duration.zero
    /// What the last checkpoint took. A single slow one does not count.
    private var cost = Duration.zero

    /// Counts bytes that were written. True when a checkpoint is due, which then begins.
    mutating func isDue(afterWriting count: Int) -> Bool {
        unsaved += count
        let now = ContinuousClock.now
        let passed = now - end
        guard passed >= Self.interval || (unsaved >= Self.bytes && passed >= rest) else { return false }
        start = now
        return true
    }

    mutating func checkpointEnded() {
        end = .now
        unsaved = 0
        let latest = end - start
        rest = min(min(cost, latest) * 9, Self.longestRest)
        cost = latest
    }
}
