/// How far a transfer has come.
struct TransferProgress: Equatable {
    /// The bytes there are, those of earlier attempts included.
    var received: Int64
    /// The bytes there will be; `nil` when the server did not say.
    var total: Int64?
    /// `nil` until there is enough to judge by.
    var bytesPerSecond: Double?

    /// From 0 to 1, and 1 only at the end; `nil` while the total is unknown.
    var fraction: Double? {
        guard let total else { return nil }
        guard received < total else { return 1 }
        return Double(max(0, received)) / Double(total)
    }

    /// Whole per cent, rounded down, so that 100 means all of it.
    var percent: Int? {
        guard let total, let fraction else { return nil }
        return received < total ? min(99, Int(fraction * 100)) : 100
    }

    /// How long the rest takes at the present rate; `nil` when nobody can tell.
    var timeLeft: Duration? {
        guard let total, let bytesPerSecond, bytesPerSecond >= 1, received < total else { return nil }
        let seconds = Double(total - received) / bytesPerSecond
        return seconds < 1e9 ? .seconds(seconds.rounded(.up)) : nil
    }
}
