import Foundation
internal import PurlHTTP

/// What happens to a request, given what is stored: the request's policy decides first, then RFC 9111.
enum CacheDecision {
    /// The stored response answers it, with `age` seconds in its `Age` field.
    case use(CachedURLResponse, age: Int64?)
    /// The server is asked whether it is still right.
    case validate(CachedURLResponse, HeaderFields)
    /// The request is sent as it is. The stored response may stand in for a failure.
    case forward(CachedURLResponse?)
    /// The request accepts only what is stored (RFC 9111 §5.2.1.7), and nothing is: status 504.
    case unsatisfiable
    /// The policy accepts only what is stored, and nothing is.
    case refuse

    /// - Parameters:
    ///   - stored: What is stored for a request with the same fields.
    ///   - fields: The request's, as they would be sent.
    ///   - now: Seconds since 1970.
    init(_ policy: URLRequest.CachePolicy, _ stored: CachedURLResponse?, for fields: HeaderFields, at now: Int64) {
        let rules = stored?.rules
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData:
            self = .forward(nil)
        case .returnCacheDataElseLoad:
            self = stored.map { .use($0, age: rules?.currentAge(at: now)) } ?? .forward(nil)
        case .returnCacheDataDontLoad:
            self = stored.map { .use($0, age: rules?.currentAge(at: now)) } ?? .refuse
        case .reloadRevalidatingCacheData:
            guard let stored, let conditions = rules?.validationFields, !conditions.isEmpty else {
                self = .forward(nil)
                return
            }
            self = .validate(stored, conditions)
        case .useProtocolCachePolicy:
            guard let stored, let rules else {
                self = CacheControl(request: fields).onlyIfCached ? .unsatisfiable : .forward(nil)
                return
            }
            switch rules.reuse(for: fields, at: now) {
            case .use(let age): self = .use(stored, age: age)
            case .validate(let conditions): self = .validate(stored, conditions)
            case .forward: self = .forward(stored)
            case .unsatisfiable: self = .unsatisfiable
            }
        }
    }
}

extension URLRequest.CachePolicy {
    /// Whether a stored response is looked for.
    var looksUp: Bool {
        switch self {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad,
            .reloadRevalidatingCacheData:
            true
        }
    }

    /// Adds the directives for the caches on the way, unless the request has its own.
    func addFields(to fields: inout HeaderFields) {
        guard !fields.contains(.cacheControl) else { return }
        switch self {
        case .reloadIgnoringLocalAndRemoteCacheData:
            fields.append(.cacheControl, "no-cache")
            // RFC 9111 §5.4: for caches that know HTTP/1.0 only.
            if !fields.contains(.pragma) { fields.append(.pragma, "no-cache") }
        case .reloadRevalidatingCacheData:
            // The origin server is to confirm it, not another cache.
            fields.append(.cacheControl, "max-age=0")
        case .useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad,
            .returnCacheDataDontLoad:
            break
        }
    }
}
