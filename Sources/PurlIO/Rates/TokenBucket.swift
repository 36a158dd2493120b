/// How many bytes may go at a moment, so that over time no more than so many go in a second.
///
/// Bytes drip into the bucket at the rate, and whoever moves some takes them out; what does not fit is lost, so that no
/// pause is ever made up for by more than the bucket holds. It knows the time from those who ask, and waits for nothing.
package struct TokenBucket: Sendable {
    /// Bytes a second.
    package let rate: Int64
    /// How many bytes may go at once after a pause: a sixteenth of a second's, so that in no second more than a
    /// sixteenth too many go.
    package let capacity: Int
    /// How many bytes are worth the effort of moving them: a quarter of the bucket. Who comes for them a little late has
    /// lost nothing.
    package let portion: Int

    /// More bytes a second than this are as good as no limit, and less than one is none at all.
    private static let rates: ClosedRange<Int64> = 1...1 << 36
    private static let second: Int64 = 1_000_000_000

    /// What is in the bucket, in billionths of a byte: bytes a second times nanoseconds.
    private var level: Int64
    private var lastLook: MonotonicTime

    /// A full bucket. A rate without sense becomes the nearest that has one.
    package init(rate: Int, at now: MonotonicTime) {
        self.rate = min(max(Int64(rate), Self.rates.lowerBound), Self.rates.upperBound)
        // Room for the next byte while one waits to be taken.
        capacity = max(2, Int(self.rate / 16))
        portion = max(1, capacity / 4)
        level = Int64(capacity) * Self.second
        lastLook = now
    }

    /// How many bytes may go now.
    package mutating func available(at now: MonotonicTime) -> Int {
        fill(until: now)
        return Int(level / Self.second)
    }

    /// That many bytes have gone: no more than were available.
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
        // A clock that goes backwards brings nothing, and takes nothing.
        guard now > lastLook else { return }
        let (difference, overflow) = now.nanoseconds.subtractingReportingOverflow(lastLook.nanoseconds)
        let elapsed = overflow ? .max : difference
        lastLook = now
        let room = Int64(capacity) * Self.second - level
        // Compared before it is multiplied: a long pause at a high rate is more than 64 bits hold.
        level += elapsed > room / rate ? room : elapsed * rate
    }
}
