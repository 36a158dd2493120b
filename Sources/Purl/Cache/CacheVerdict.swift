import Foundation
internal import PurlHTTP

/// What becomes of a request, after a look at what is stored: the request's policy first, then RFC 9111.
enum CacheVerdict {
    /// The stored response answers it. `age` seconds is what `Age` has to say.
    case use(CachedURLResponse, age: Int64?)
    /// The server is asked whether it is still right.
    case validate(CachedURLResponse, HeaderFields)
    /// The request goes out as it is. The stored response may stand in for a failure.
    case forward(CachedURLResponse?)
    /// The request wants nothing that is not stored (RFC 9111 §5.2.1.7): status 504.
    case unsatisfiable
    /// The policy wants nothing that is not stored.
    case refuse

    /// - Parameters:
    ///   - stored: What is stored for a request with the same fields.
    ///   - fields: Those of the request, as they would go over the wire.
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
    /// Whether it lets a stored response be looked for.
    var looksUp: Bool {
        switch self {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad,
            .reloadRevalidatingCacheData:
            true
        }
    }

    /// What it tells the caches on the way, unless the request speaks to them itself.
    func addFields(to fields: inout HeaderFields) {
        guard !fields.contains(.cacheControl) else { return }
        switch self {
        case .reloadIgnoringLocalAndRemoteCacheData:
            fields.append(.cacheControl, "no-cache")
            // RFC 9111 §5.4: for those that know HTTP/1.0 only.
            if !fields.contains(.pragma) { fields.append(.pragma, "no-cache") }
        case .reloadRevalidatingCacheData:
            // The origin is to confirm it, not a cache that is no wiser.
            fields.append(.cacheControl, "max-age=0")
        case .useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad,
            .returnCacheDataDontLoad:
            break
        }
    }
}
