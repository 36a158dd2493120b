/// A stored response without its content. Times are seconds since the epoch.
package struct CachedResponse: Sendable, Equatable {
    /// The fields of the request it answered.
    package var requestFields: HeaderFields
    package var status: Int
    package var fields: HeaderFields
    /// When the request was sent.
    package var requestTime: Int64
    /// When the head of the response was received.
    package var responseTime: Int64

    package init(
        requestFields: HeaderFields, status: Int, fields: HeaderFields, requestTime: Int64, responseTime: Int64
    ) {
        self.requestFields = requestFields
        self.status = status
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}

// MARK: - Freshness

/// How old a stored response is and how long it stays fresh (RFC 9111 §4.2), for a private cache.
extension CachedResponse {
    /// For how many seconds the response is fresh, counted from when the server generated it.
    package var freshnessLifetime: Int64 {
        let control = CacheControl(fields)
        if let maxAge = control.maxAge { return maxAge }
        if let expires = fields.expires {
            return max(0, expires.secondsSinceEpoch.subtractingClamped(dateValue))
        }
        return heuristicLifetime(control)
    }

    /// How many seconds ago the server generated or confirmed the response (RFC 9111 §4.2.3).
    package func currentAge(at now: Int64) -> Int64 {
        let apparentAge = max(0, responseTime.subtractingClamped(dateValue))
        let delay = max(0, responseTime.subtractingClamped(requestTime))
        let correctedAge = (fields.age ?? 0).addingClamped(delay)
        // A clock that was set back must not make the response younger than it was on receipt.
        let residentTime = max(0, now.subtractingClamped(responseTime))
        return max(apparentAge, correctedAge).addingClamped(residentTime)
    }

    /// Whether the response is young enough to be used without asking the server.
    package func isFresh(at now: Int64) -> Bool {
        freshnessLifetime > currentAge(at: now)
    }

    /// How many seconds the response has been stale; 0 when it is fresh or has just become stale.
    package func staleness(at now: Int64) -> Int64 {
        max(0, currentAge(at: now).subtractingClamped(freshnessLifetime))
    }

    /// When the server generated the response. RFC 9110 §6.6.1: without `Date`, when it was received.
    private var dateValue: Int64 {
        fields.date?.secondsSinceEpoch ?? responseTime
    }

    /// RFC 9111 §4.2.2: a tenth of the time since the last modification.
    private func heuristicLifetime(_ control: CacheControl) -> Int64 {
        guard control.isPublic || CachedResponse.isHeuristicallyCacheable(status),
            let modified = fields.lastModified
        else { return 0 }
        return max(0, dateValue.subtractingClamped(modified.secondsSinceEpoch)) / 10
    }

    /// Whether a response with this status may be stored without explicit freshness (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}

extension Int64 {
    /// The sum, or the nearest number there is: for counts that a peer chooses.
    package func addingClamped(_ other: Int64) -> Int64 {
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

// MARK: - Validation

/// What a 304 response does to the stored response it refers to (RFC 9111 §4.3.4 and §3.2).
extension CachedResponse {
    /// Whether a 304 response refers to this stored response: they have the same validator, or the 304 has none, in
    /// which case the request's validator identifies it.
    package func isConfirmed(by notModified: HeaderFields) -> Bool {
        if let text = notModified.values(of: .etag).first, let tag = EntityTag(text) {
            guard let stored = fields.values(of: .etag).first.flatMap({ EntityTag($0) }) else { return false }
            return tag.isWeak ? stored.weakMatch(tag) : stored.strongMatch(tag)
        }
        if let modified = notModified.lastModified { return modified == fields.lastModified }
        return true
    }

    /// Whether a 200 to HEAD shows that the stored response is outdated (RFC 9111 §4.3.5): another validator, or another
    /// length.
    package func isContradicted(byHead head: HeaderFields) -> Bool {
        let validators: [FieldName] = [.etag, .lastModified]
        if validators.contains(where: { head.contains($0) && head.values(of: $0) != fields.values(of: $0) }) {
            return true
        }
        guard let length = head.values(of: .contentLength).first, let stored = fields.values(of: .contentLength).first
        else { return false }
        return Int64(digits: length.utf8) != Int64(digits: stored.utf8)
    }

    /// The stored response with the fields of the 304 that confirmed it, and its times.
    package func updated(by notModified: HeaderFields, requestTime: Int64, responseTime: Int64) -> CachedResponse {
        var result = self
        result.requestTime = requestTime
        result.responseTime = responseTime
        // RFC 9111 §4.2.3 counts from the last confirmation: the earlier `Age` and `Date` no longer apply.
        result.fields.removeAll(.age)
        result.fields.removeAll(.date)
        let fresh = CacheStorage.storedFields(of: notModified).filter {
            !CachedResponse.contentFields.contains(FieldName($0.name))
        }
        for name in Set(fresh.map { FieldName($0.name) }) { result.fields.removeAll(name) }
        for field in fresh { result.fields.append(FieldName(field.name), field.value) }
        return result
    }

    /// The fields that describe the stored bytes, which a 304 does not carry.
    private static let contentFields: Set<FieldName> = [.contentLength, .contentEncoding, .contentRange]
}
