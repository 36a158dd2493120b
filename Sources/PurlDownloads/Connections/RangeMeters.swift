/// How fast the connections of one file are.
struct RangeMeters: Sendable {
    /// What a connection has received.
    private struct Meter {
        var received = 0
        var hasBegun = false
        var silence = Duration.zero
        var rate: Double?
    }

    /// A connection that has not brought a byte for so long counts as one that stands still.
    private static let longestSilence = Duration.seconds(2)

    private var meters: [RangePlan.Reader: Meter] = [:]
    /// The highest rate of the last measurement, which another connection is expected to have, in bytes a second.
    private(set) var fastest: Double?

    /// A connection has received bytes.
    mutating func add(_ count: Int, by reader: RangePlan.Reader) { meters[reader, default: Meter()].received += count }

    mutating func forget(_ reader: RangePlan.Reader) { meters[reader] = nil }

    mutating func forgetAll() { meters = [:] }

    /// Measures the plan's connections, which from now on have these rates there.
    ///
    /// - Parameter interval: The time since the last measurement.
    /// - Returns: The bytes a second of all together.
    mutating func measure(_ plan: inout RangePlan, over interval: Duration) -> Double {
        let seconds = interval / .seconds(1)
        var whole = 0.0
        for reader in plan.readers {
            var meter = meters[reader] ?? Meter()
            let rate = Double(meter.received) / seconds
            whole += rate
            meter.silence = meter.received > 0 ? .zero : meter.silence + interval
            meter.hasBegun = meter.hasBegun || meter.received > 0
            meter.received = 0
            // Before its first byte a connection is not slow yet.
            if meter.hasBegun || meter.silence >= Self.longestSilence {
                let smoothed = meter.rate.map { ($0 + rate) / 2 } ?? rate
                meter.rate = smoothed
                plan.setRate(smoothed, of: reader)
            }
            meters[reader] = meter
        }
        fastest = meters.values.compactMap(\.rate).max() ?? fastest
        return whole
    }
}
