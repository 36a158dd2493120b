/// An instant of the monotonic clock, which never jumps and has no meaning outside this run of the machine.
package struct MonotonicTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since an arbitrary origin.
    package let nanoseconds: Int64

    /// The instant `nanoseconds` after the clock's origin.
    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Reads the clock, which is a simulation's on its thread.
    package static var current: MonotonicTime {
        Simulated.machine?.now ?? MonotonicTime(nanoseconds: Platform.monotonicNanoseconds())
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant `duration` later; one too far away becomes the last one there is.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let distance = duration.saturatedNanoseconds
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(distance)
        return MonotonicTime(nanoseconds: overflow ? (distance < 0 ? .min : .max) : sum)
    }

    /// The time that passed from `right` to `left`.
    package static func - (left: MonotonicTime, right: MonotonicTime) -> Duration {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(overflow ? (left < right ? .min : .max) : difference)
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to 64 bits.
    fileprivate var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}
