/// The progress of a transfer.
struct TransferProgress: Equatable {
    /// The bytes received, or sent, those of earlier attempts included.
    var received: Int64
    /// The length of the whole; `nil` when the server did not send it.
    var total: Int64?
    /// `nil` until it has been measured.
    var bytesPerSecond: Double?

    /// From 0 to 1, and 1 only at the end; `nil` when the total is unknown.
    var fraction: Double? {
        guard let total else { return nil }
        guard received < total else { return 1 }
        return Double(max(0, received)) / Double(total)
    }

    /// Whole per cent, rounded down: 100 means complete.
    var percent: Int? {
        guard let total, let fraction else { return nil }
        return received < total ? min(99, Int(fraction * 100)) : 100
    }

    /// The time left at the current rate; `nil` when it cannot be computed.
    var timeLeft: Duration? {
        guard let total, let bytesPerSecond, bytesPerSecond >= 1, received < total else { return nil }
        let seconds = Double(total - received) / bytesPerSecond
        return seconds < 1e9 ? .seconds(seconds.rounded(.up)) : nil
    }
}

/// Measures one transfer's rate from its counts, and decides when a line is printed.
struct ProgressMeter {
    /// The last counts, with the rate.
    private(set) var progress: TransferProgress

    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var rate = RateMeter()
    private var lines: ProgressLines
    private var events = EventInterval()

    /// - Parameter first: The counts at the start, or where the transfer resumes.
    init(_ first: TransferProgress) {
        progress = first
        lines = ProgressLines(from: first)
        start = clock.now
        rate.addSample(first.received, at: .zero)
    }

    /// Takes the current counts. Returns the line to print, if one is due.
    mutating func update(_ counts: TransferProgress) -> String? {
        rate.addSample(counts.received, at: clock.now - start)
        progress = counts
        progress.bytesPerSecond = rate.bytesPerSecond
        return lines.line(progress)
    }

    /// Whether an event about the progress is due. Then the next one is due after a while.
    mutating func takeEvent() -> Bool {
        events.take(progress.received, at: clock.now - start)
    }
}

/// Decides when an event about progress is due: a second after the start or the last one, if there has been progress.
struct EventInterval {
    private static let length = Duration.seconds(1)

    private var last = (time: Duration.zero, bytes: Int64?.none)

    /// Whether an event is due, which is then taken to be written.
    ///
    /// - Parameter time: Counts from the start.
    mutating func take(_ bytes: Int64, at time: Duration) -> Bool {
        guard time - last.time >= Self.length, bytes != last.bytes else { return false }
        last = (time, bytes)
        return true
    }
}

/// The rate of a transfer, as the mean over the last few seconds.
struct RateMeter {
    private struct Sample {
        let time: Duration
        let bytes: Int64
    }

    /// The length of the period.
    private static let window = Duration.seconds(5)
    /// A shorter period gives no meaningful mean.
    private static let shortest = Duration.milliseconds(200)

    private var samples: [Sample] = []

    /// Adds the number of bytes received until `time`, which counts from any fixed start.
    mutating func addSample(_ bytes: Int64, at time: Duration) {
        samples.append(Sample(time: time, bytes: bytes))
        // One sample older than the window stays, so that the window is covered.
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
    }

    /// `nil` until the samples cover the shortest period.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time >= Self.shortest else {
            return nil
        }
        return Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1))
    }
}
