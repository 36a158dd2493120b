/// Byte counts and rates with three digits and a decimal unit.
enum ByteText {
    private static let units = ["kB", "MB", "GB", "TB", "PB", "EB"]

    /// "999 B", "1.50 kB", "12.3 MB", "200 MB".
    static func count(_ bytes: Int64) -> String {
        let bytes = max(0, bytes)
        if bytes < 1000 { return "\(bytes) B" }
        var scale: Int64 = 1000
        for unit in units {
            if let digits = threeDigits(bytes, scale) { return "\(digits) \(unit)" }
            scale *= 1000
        }
        return "\(bytes) B"
    }

    /// "31.0 MB/s".
    static func rate(_ bytesPerSecond: Double) -> String {
        let isSensible = bytesPerSecond.isFinite && bytesPerSecond >= 0 && bytesPerSecond < 1e18
        return count(isSensible ? Int64(bytesPerSecond.rounded()) : 0) + "/s"
    }

    /// "12.3 MB of 200 MB"; "12.3 MB" while the total is unknown.
    static func progress(_ received: Int64, of total: Int64?) -> String {
        guard let total else { return count(received) }
        return "\(count(received)) of \(count(total))"
    }

    /// `bytes` in units of `scale`, `nil` when they round to 1000 or more.
    private static func threeDigits(_ bytes: Int64, _ scale: Int64) -> String? {
        // Rounded to hundredths, tenths or ones: as many places as leave three digits.
        for (places, hundredths) in [(2, Int64(1)), (1, 10), (0, 100)] {
            let step = scale / 100 * hundredths
            let rounded = bytes / step + (bytes % step >= step - step / 2 ? 1 : 0)
            guard rounded < 1000 else { continue }
            return decimal(rounded, places: places)
        }
        return nil
    }

    private static func decimal(_ value: Int64, places: Int) -> String {
        var digits = String(value)
        guard places > 0 else { return digits }
        digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -places))
        return digits
    }
}

/// Durations as text.
enum TimeText {
    /// Minutes and seconds: "0:05", "12:34", "1:02:03", "3 d 4 h".
    static func clock(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3600 % 24, seconds / 86_400)
        if days > 0 { return "\(days) d \(hours) h" }
        if seconds >= 3600 { return "\(hours):\(twoDigits(minutes)):\(twoDigits(seconds % 60))" }
        return "\(minutes):\(twoDigits(seconds % 60))"
    }

    /// A time taken: "0.4 s", "12.3 s", from a minute on as ``clock(_:)``.
    static func elapsed(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds < 60 else { return clock(duration) }
        let tenths = max(0, attoseconds) / 100_000_000_000_000_000
        return "\(max(0, seconds)).\(tenths) s"
    }

    /// A delay: "1 s", "42 s", from a minute on as ``clock(_:)``.
    static func wait(_ duration: Duration) -> String {
        let seconds = max(0, (duration + .milliseconds(500)).components.seconds)
        return seconds < 60 ? "\(seconds) s" : clock(.seconds(seconds))
    }

    private static func twoDigits(_ value: Int64) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }
}
