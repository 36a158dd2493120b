import Foundation
internal import PurlIO

/// Dates for moments of the monotonic clock. All dates of one task are made with one of these, so that a clock that is
/// set meanwhile does not tear them apart.
struct WallClock: Sendable {
    private let date: Date
    private let moment: MonotonicTime

    init() {
        date = Date()
        moment = .current
    }

    func date(of moment: MonotonicTime) -> Date {
        let (seconds, attoseconds) = (moment - self.moment).components
        return date + (Double(seconds) + Double(attoseconds) * 1e-18)
    }
}
