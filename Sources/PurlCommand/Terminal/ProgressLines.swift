/// Progress where nobody can draw over lines: one line for every 10 per cent, or, while the whole is not known, each
/// time as much again has arrived.
struct ProgressLines {
    /// Below this, doubling says nothing.
    private static let firstMark: Int64 = 1_000_000

    private var lastTenth: Int
    private var nextMark: Int64

    /// - Parameter start: Where the transfer begins or goes on.
    init(from start: TransferProgress) {
        lastTenth = (start.percent ?? 0) / 10
        nextMark = max(Self.firstMark, Self.doubled(start.received))
    }

    /// The line that is due, if one is.
    mutating func line(_ progress: TransferProgress) -> String? {
        if let percent = progress.percent {
            guard percent / 10 > lastTenth else { return nil }
            lastTenth = percent / 10
            return text(progress, "\(percent) %")
        }
        guard progress.received >= nextMark else { return nil }
        nextMark = Self.doubled(progress.received)
        return text(progress, nil)
    }

    private func text(_ progress: TransferProgress, _ percent: String?) -> String {
        let parts = [
            percent,
            ByteText.progress(progress.received, of: progress.total),
            progress.bytesPerSecond.map(ByteText.rate),
            progress.timeLeft.map { TimeText.clock($0) + " left" },
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    private static func doubled(_ bytes: Int64) -> Int64 {
        let (result, overflow) = bytes.multipliedReportingOverflow(by: 2)
        return overflow ? .max : result
    }
}
