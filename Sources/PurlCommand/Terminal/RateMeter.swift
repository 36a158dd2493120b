/// The speed of a transfer, as the mean over the last few seconds.
struct RateMeter {
    private struct Sample {
        let time: Duration
        let bytes: Int64
    }

    /// How far back it looks.
    private static let window = Duration.seconds(5)
    /// Below this a mean says nothing.
    private static let shortest = Duration.milliseconds(200)

    private var samples: [Sample] = []

    /// `bytes` in all had arrived at `time` after some fixed beginning.
    mutating func note(_ bytes: Int64, at time: Duration) {
        samples.append(Sample(time: time, bytes: bytes))
        // One sample older than the window stays, so that the window is covered.
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
    }

    /// `nil` until there is enough to judge by.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time >= Self.shortest else {
            return nil
        }
        return Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1))
    }
}
