/// Decides when it is written down how far a sink has come, so that a process that is killed loses little: at most the
/// last second, or the last 512 KiB where making them safe takes no more than a tenth of the time.
struct CheckpointSchedule {
    private static let interval = Duration.seconds(1)
    private static let bytes = 1 << 19

    private var unsaved = 0
    private var start = ContinuousClock.now
    private var end = ContinuousClock.now
    /// What the last checkpoint took.
    private var cost = Duration.zero

    /// Counts bytes that were written. True when a checkpoint is due, which then begins.
    mutating func isDue(afterWriting count: Int) -> Bool {
        unsaved += count
        let now = ContinuousClock.now
        let passed = now - end
        guard passed >= Self.interval || (unsaved >= Self.bytes && passed >= cost * 9) else { return false }
        start = now
        return true
    }

    mutating func checkpointEnded() {
        end = .now
        cost = end - start
        unsaved = 0
    }
}
