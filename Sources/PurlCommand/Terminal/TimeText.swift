/// Times for people.
enum TimeText {
    /// As on a clock: "0:05", "12:34", "1:02:03", "3 d 4 h".
    static func clock(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3600 % 24, seconds / 86_400)
        if days > 0 { return "\(days) d \(hours) h" }
        if seconds >= 3600 { return "\(hours):\(twoDigits(minutes)):\(twoDigits(seconds % 60))" }
        return "\(minutes):\(twoDigits(seconds % 60))"
    }

    /// How long something took: "0.4 s", "12.3 s", then as on a clock.
    static func elapsed(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds < 60 else { return clock(duration) }
        let tenths = max(0, attoseconds) / 100_000_000_000_000_000
        return "\(max(0, seconds)).\(tenths) s"
    }

    /// How long something will be waited for: "1 s", "42 s", then as on a clock.
    static func wait(_ duration: Duration) -> String {
        let seconds = max(0, (duration + .milliseconds(500)).components.seconds)
        return seconds < 60 ? "\(seconds) s" : clock(.seconds(seconds))
    }

    private static func twoDigits(_ value: Int64) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }
}
