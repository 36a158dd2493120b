/// A limit on bytes a second: how many bytes may be moved at a given time.
///
/// The bucket fills at the rate, and bytes that are moved are taken from it. What does not fit is lost, so that a pause is
/// followed by no more than the bucket holds. The caller passes the time; the bucket never waits.
package struct TokenBucket: Sendable {
    /// Bytes a second.
    package let rate: Int64
    /// How many bytes may be moved at once after a pause: those of a sixteenth of a second, so that no second has more
    /// than a sixteenth too many.
    package let capacity: Int
    /// How many bytes are worth a move: a quarter of the bucket, so that a caller who is a little late loses none.
    package let portion: Int

    /// The rates that make sense: above the highest there is no limit in practice, and below one byte nothing moves.
    private static let rates: ClosedRange<Int64> = 1...1 << 36
    private static let second: Int64 = 1_000_000_000

    /// The content of the bucket in billionths of a byte: bytes a second times nanoseconds.
    private var level: Int64
    private var lastFill: MonotonicTime

    /// A full bucket. A rate out of range becomes the nearest one in range.
    package init(rate: Int, at now: MonotonicTime) {
        self.rate = min(max(Int64(rate), Self.rates.lowerBound), Self.rates.upperBound)
        // Room for the next byte while one waits to be taken.
        capacity = max(2, Int(self.rate / 16))
        portion = max(1, capacity / 4)
        level = Int64(capacity) * Self.second
        lastFill = now
    }

    /// How many bytes may be moved now.
    package mutating func available(at now: MonotonicTime) -> Int {
        fill(until: now)
        return Int(level / Self.second)
    }

    /// Takes bytes that have been moved: no more than were available.
    package mutating func take(_ count: Int) {
        level -= min(level, Int64(min(count, capacity)) * Self.second)
    }

    /// How long it takes from now until a portion is available.
    package mutating func wait(at now: MonotonicTime) -> Duration {
        fill(until: now)
        let missing = Int64(portion) * Self.second - level
        return missing <= 0 ? .zero : .nanoseconds((missing + rate - 1) / rate)
    }

    private mutating func fill(until now: MonotonicTime) {
        // A clock that was set back neither adds nor removes bytes.
        guard now > lastFill else { return }
        let (difference, overflow) = now.nanoseconds.subtractingReportingOverflow(lastFill.nanoseconds)
        let elapsed = overflow ? .max : difference
        lastFill = now
        let room = Int64(capacity) * Self.second - level
        // Compared before it is multiplied: a long pause at a high rate is more than 64 bits hold.
        level += elapsed > room / rate ? room : elapsed * rate
    }
}
