internal import PurlIO

/// How much may be sent by now. Time that was spent on stalls gives no credit.
struct Throttle {
    private let bytesPerSecond: Double
    private let quantum: Double
    private var credit: Double
    private var last: MonotonicTime

    /// Starts with the right to send a fiftieth of a second's bytes.
    init(bytesPerSecond: Int, now: MonotonicTime) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        quantum = max(1, self.bytesPerSecond / 50)
        credit = quantum
        last = now
    }

    /// How many bytes may be sent now. Not fewer than one quantum, or none.
    mutating func allowance(at now: MonotonicTime) -> Int {
        let passed = Double(max(0, now.nanoseconds - last.nanoseconds)) / 1e9
        last = now
        credit = min(credit + passed * bytesPerSecond, quantum * 10)
        return credit >= quantum ? Int(credit) : 0
    }

    /// How long until a quantum may be sent.
    var delay: Duration { .seconds(max(0, quantum - credit) / bytesPerSecond) + .milliseconds(1) }

    /// Takes `count` bytes off what may be sent.
    mutating func spend(_ count: Int) {
        credit -= Double(count)
    }
}
