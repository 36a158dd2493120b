/// The progress of several downloads together.
struct BatchProgress: Equatable {
    /// How many there are.
    let count: Int
    let complete: Int
    let failed: Int
    /// Those that are being downloaded, each as far as it is, from 0 to 1.
    let downloading: [Double]
    let bytesPerSecond: Double

    /// From 0 to 1: each download counts the same, since the lengths of those that wait are not known. One that has failed has
    /// ended, too.
    var fraction: Double {
        guard complete + failed < count else { return 1 }
        return (Double(complete + failed) + downloading.reduce(0, +)) / Double(max(1, count))
    }

    /// Whole per cent, rounded down: 100 means that all have ended.
    var percent: Int {
        complete + failed < count ? min(99, Int(fraction * 100)) : 100
    }

    /// The current state, from the longest text to the shortest:
    /// "2 of 7 complete, 4 downloading, 1 waiting  45.6 MB/s", "2 of 7 complete, 1 failed", "2 of 7".
    var texts: [String] {
        let waiting = max(0, count - complete - failed - downloading.count)
        let state = ["\(complete) of \(count) complete", failed > 0 ? "\(failed) failed" : nil].compactMap(\.self)
        let others = [
            downloading.isEmpty ? nil : "\(downloading.count) downloading", waiting > 0 ? "\(waiting) waiting" : nil,
        ].compactMap(\.self)
        let rate = bytesPerSecond >= 1 ? "  " + ByteText.rate(bytesPerSecond) : ""
        let (long, short) = ((state + others).joined(separator: ", "), state.joined(separator: ", "))
        return [long + rate, short + rate, short, "\(complete) of \(count)"]
    }
}

/// Texts about several downloads.
enum BatchText {
    /// "4.00 MB in 0.4 s (10.0 MB/s)", or "4.00 MB, 2.50 MB of it now in 0.4 s (6.25 MB/s)".
    ///
    /// - Parameters:
    ///   - whole: The bytes on disk.
    ///   - new: Those of them that were received in this time.
    static func amount(_ whole: Int64, new: Int64, in elapsed: Duration) -> String {
        let share = new == whole ? "" : ", \(ByteText.count(new)) of it now"
        return "\(ByteText.count(whole))\(share) in \(TimeText.elapsed(elapsed))\(rate(new, in: elapsed))"
    }

    /// " (10.0 MB/s)"; empty for no time.
    static func rate(_ count: Int64, in elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        return seconds > 0 ? " (\(ByteText.rate(Double(count) / seconds)))" : ""
    }
}
