/// What to do with a stored response for a request (RFC 9111 §4).
package enum CacheReuse: Sendable, Equatable {
    /// Use it as it is; `age` is the value of `Age` in seconds.
    case use(age: Int64)
    /// Ask the server whether it is still valid, with these fields added to the request.
    case validate(HeaderFields)
    /// It cannot be used; send the request as it is.
    case forward
    /// The client accepts only stored responses, and none can be used: status 504 (RFC 9111 §5.2.1.7).
    case unsatisfiable
}

extension CachedResponse {
    /// What to do with this response for a request for the same target with the method GET.
    package func reuse(for request: HeaderFields, at now: Int64) -> CacheReuse {
        let requested = CacheControl(request: request)
        guard VaryList(fields).allows(request, after: requestFields) else {
            return requested.onlyIfCached ? .unsatisfiable : .forward
        }
        if mayUse(requested, at: now) { return .use(age: currentAge(at: now)) }
        if requested.onlyIfCached { return .unsatisfiable }
        let conditions = validationFields
        return conditions.isEmpty ? .forward : .validate(conditions)
    }

    /// Whether this response may be used although it is stale, because the server cannot be reached or responded with
    /// status 500, 502, 503 or 504 (RFC 5861 §4).
    package func mayReplaceError(for request: HeaderFields, at now: Int64) -> Bool {
        let requested = CacheControl(request: request)
        let control = CacheControl(fields)
        guard VaryList(fields).allows(request, after: requestFields), !requested.noCache, !control.noCache else {
            return false
        }
        if isFresh(at: now) { return true }
        // RFC 9111 §5.2.2.2: not even when the server cannot be reached.
        guard !control.mustRevalidate else { return false }
        guard let limit = requested.staleIfError ?? control.staleIfError else { return false }
        return staleness(at: now) <= limit
    }

    /// The fields that make a request conditional on this response's validators (RFC 9111 §4.3.1); none when it has no
    /// validator.
    package var validationFields: HeaderFields {
        var conditions = HeaderFields()
        if fields.values(of: .etag).count == 1, let tag = fields.latin1(.etag), EntityTag(tag) != nil {
            conditions.append(.ifNoneMatch, latin1: tag)
        }
        if let modified = fields.values(of: .lastModified).first, HTTPDate(modified) != nil {
            conditions.append(.ifModifiedSince, modified)
        }
        return conditions
    }

    private func mayUse(_ requested: CacheControl, at now: Int64) -> Bool {
        let control = CacheControl(fields)
        guard !requested.noCache, !control.noCache else { return false }
        let age = currentAge(at: now)
        // Ages are whole seconds, so a maximum age of 0 can only mean that the server must be asked.
        if let maxAge = requested.maxAge, maxAge == 0 || age > maxAge { return false }
        if let minFresh = requested.minFresh, freshnessLifetime < minFresh || freshnessLifetime - minFresh < age {
            return false
        }
        if isFresh(at: now) { return true }
        guard !control.mustRevalidate else { return false }
        return switch requested.maxStale {
        case nil: false
        case .any: true
        case .seconds(let limit): staleness(at: now) <= limit
        }
    }
}
