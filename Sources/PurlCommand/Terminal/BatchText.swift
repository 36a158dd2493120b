/// Texts about several downloads.
enum BatchText {
    /// The current state: "2 of 7 complete, 4 downloading, 1 waiting  45.6 MB/s".
    static func progress(
        complete: Int, failed: Int, downloading: Int, of count: Int, bytesPerSecond: Double
    ) -> String {
        let waiting = max(0, count - complete - failed - downloading)
        let parts = [
            "\(complete) of \(count) complete",
            failed > 0 ? "\(failed) failed" : nil,
            downloading > 0 ? "\(downloading) downloading" : nil,
            waiting > 0 ? "\(waiting) waiting" : nil,
        ]
        let text = parts.compactMap(\.self).joined(separator: ", ")
        return bytesPerSecond >= 1 ? text + "  " + ByteText.rate(bytesPerSecond) : text
    }

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
