/// How old a stored response is and how long it stays fresh (RFC 9111 §4.2), for a private cache.
extension CachedResponse {
    /// For how many seconds the response is fresh, counted from when the server made it.
    package var freshnessLifetime: Int64 {
        let control = CacheControl(fields)
        if let maxAge = control.maxAge { return maxAge }
        if let expires = fields.expires {
            return max(0, expires.secondsSinceEpoch.subtractingClamped(dateValue))
        }
        return heuristicLifetime(control)
    }

    /// How many seconds ago the server made or confirmed the response (RFC 9111 §4.2.3).
    package func currentAge(at now: Int64) -> Int64 {
        let apparentAge = max(0, responseTime.subtractingClamped(dateValue))
        let delay = max(0, responseTime.subtractingClamped(requestTime))
        let correctedAge = (fields.age ?? 0).addingClamped(delay)
        // A clock that was set back must not make anything younger than it came.
        let residentTime = max(0, now.subtractingClamped(responseTime))
        return max(apparentAge, correctedAge).addingClamped(residentTime)
    }

    /// Whether the response may be used without asking anybody, as far as its age goes.
    package func isFresh(at now: Int64) -> Bool {
        freshnessLifetime > currentAge(at: now)
    }

    /// How many seconds the response has been stale; 0 when it is fresh or has just become stale.
    package func staleness(at now: Int64) -> Int64 {
        max(0, currentAge(at: now).subtractingClamped(freshnessLifetime))
    }

    /// When the server made the response. RFC 9110 §6.6.1: without `Date` it is when it came.
    private var dateValue: Int64 {
        fields.date?.secondsSinceEpoch ?? responseTime
    }

    /// RFC 9111 §4.2.2: a tenth of the time for which nothing had changed.
    private func heuristicLifetime(_ control: CacheControl) -> Int64 {
        guard control.isPublic || CachedResponse.isHeuristicallyCacheable(status),
            let modified = fields.lastModified
        else { return 0 }
        return max(0, dateValue.subtractingClamped(modified.secondsSinceEpoch)) / 10
    }

    /// Statuses that may be stored though nothing says for how long (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}

extension Int64 {
    /// The sum, or the nearest number there is.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other < 0 ? .min : .max
    }

    /// The difference, or the nearest number there is.
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }
}
