/// Sentences about several downloads.
enum BatchText {
    /// While they are under way: "2 of 7 complete, 4 under way, 1 waiting  45.6 MB/s".
    static func standing(complete: Int, failed: Int, underWay: Int, of count: Int, bytesPerSecond: Double) -> String {
        let waiting = max(0, count - complete - failed - underWay)
        let parts = [
            "\(complete) of \(count) complete",
            failed > 0 ? "\(failed) failed" : nil,
            underWay > 0 ? "\(underWay) under way" : nil,
            waiting > 0 ? "\(waiting) waiting" : nil,
        ]
        let text = parts.compactMap(\.self).joined(separator: ", ")
        return bytesPerSecond >= 1 ? text + "  " + ByteText.rate(bytesPerSecond) : text
    }

    /// "4.00 MB, 2.50 MB of it now in 0.4 s (6.25 MB/s)".
    ///
    /// - Parameters:
    ///   - whole: The bytes there are.
    ///   - now: Those of them that were loaded in this time.
    static func amount(_ whole: Int64, now: Int64, in elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0 ? " (\(ByteText.rate(Double(now) / seconds)))" : ""
        let rest = now == whole ? "" : ", \(ByteText.count(now)) of it now"
        return "\(ByteText.count(whole))\(rest) in \(TimeText.elapsed(elapsed))\(rate)"
    }

    /// The last line.
    static func closing(_ outcomes: [Outcome], in elapsed: Duration) -> String {
        var (complete, whole, now) = (0, Int64(0), Int64(0))
        var (failed, stopped) = (0, 0)
        for outcome in outcomes {
            switch outcome {
            case .complete(let bytes, let new):
                complete += 1
                whole += bytes
                now += new
            case .failed, .httpError: failed += 1
            case .interrupted, .notBegun: stopped += 1
            }
        }
        let amount = complete > 0 ? ": \(amount(whole, now: now, in: elapsed))" : ""
        if complete == outcomes.count { return "\(complete) files\(amount)." }
        let text = "\(complete) of \(outcomes.count) files complete\(amount)"
        let losses = failed > 0 ? "; \(failed) failed" : ""
        guard stopped > 0 else { return "\(text)\(losses)." }
        return "Interrupted: \(text)\(losses). The same command goes on."
    }
}
