/// Counts of bytes and rates for people: three digits and a decimal unit.
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

    /// "12.3 MB of 200 MB"; "12.3 MB" while the whole is not known.
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
