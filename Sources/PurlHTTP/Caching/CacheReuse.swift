/// What to do with a stored response when a request comes (RFC 9111 §4), the one place that decides.
package enum CacheReuse: Sendable, Equatable {
    /// Use it as it is; `age` seconds is what `Age` has to say.
    case use(age: Int64)
    /// Ask the server whether it is still right, with these fields added to the request.
    case validate(HeaderFields)
    /// It is of no use; send the request as it is.
    case forward
    /// The client wants nothing that is not stored: status 504 (RFC 9111 §5.2.1.7).
    case unsatisfiable
}

extension CachedResponse {
    /// What to do with this response for a request for the same target with the method GET.
    package func reuse(for request: HeaderFields, at now: Int64) -> CacheReuse {
        let wishes = CacheControl(request: request)
        guard VaryList(fields).allows(request, after: requestFields) else {
            return wishes.onlyIfCached ? .unsatisfiable : .forward
        }
        if mayUse(wishes, at: now) { return .use(age: currentAge(at: now)) }
        if wishes.onlyIfCached { return .unsatisfiable }
        let conditions = validationFields
        return conditions.isEmpty ? .forward : .validate(conditions)
    }

    /// Whether this response may be used, stale as it is, because the server cannot be reached or answered with status
    /// 500, 502, 503 or 504 (RFC 5861 §4).
    package func mayReplaceError(for request: HeaderFields, at now: Int64) -> Bool {
        let wishes = CacheControl(request: request)
        let control = CacheControl(fields)
        guard VaryList(fields).allows(request, after: requestFields), !wishes.noCache, !control.noCache else {
            return false
        }
        if isFresh(at: now) { return true }
        // RFC 9111 §5.2.2.2: not even when the server cannot be reached.
        guard !control.mustRevalidate else { return false }
        guard let limit = wishes.staleIfError ?? control.staleIfError else { return false }
        return staleness(at: now) <= limit
    }

    /// The fields that make a request ask whether this response is still right (RFC 9111 §4.3.1); none when it has no
    /// validator.
    package var validationFields: HeaderFields {
        var conditions = HeaderFields()
        if let tag = fields.values(of: .etag).first, EntityTag(tag) != nil { conditions.append(.ifNoneMatch, tag) }
        if let modified = fields.values(of: .lastModified).first, HTTPDate(modified) != nil {
            conditions.append(.ifModifiedSince, modified)
        }
        return conditions
    }

    private func mayUse(_ wishes: CacheControl, at now: Int64) -> Bool {
        let control = CacheControl(fields)
        guard !wishes.noCache, !control.noCache else { return false }
        let age = currentAge(at: now)
        // Ages are whole seconds, so "not older than now" can only mean that the server is to be asked.
        if let maxAge = wishes.maxAge, maxAge == 0 || age > maxAge { return false }
        if let minFresh = wishes.minFresh, freshnessLifetime < minFresh || freshnessLifetime - minFresh < age {
            return false
        }
        if isFresh(at: now) { return true }
        guard !control.mustRevalidate else { return false }
        return switch wishes.maxStale {
        case nil: false
        case .any: true
        case .seconds(let limit): staleness(at: now) <= limit
        }
    }
}
