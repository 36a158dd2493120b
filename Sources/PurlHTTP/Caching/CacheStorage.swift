/// What a private cache may store, and what it must remove.
package enum CacheStorage {
    /// Whether the response may be stored (RFC 9111 §3). Purl stores only complete responses to GET that another GET may
    /// have: none that depend on the range or the conditions that this one asked for.
    package static func mayStore(
        method: RequestMethod, requestFields: HeaderFields, status: Int, fields: HeaderFields
    ) -> Bool {
        guard method == .get, (200...599).contains(status), !isForThisRequest(status), !fields.contains(.contentRange)
        else { return false }
        let control = CacheControl(fields)
        if control.mustUnderstand {
            // RFC 9111 §5.2.2.3: then `no-store` concerns only caches that do not know the status.
            guard ResponseHead.standardReason(for: status) != "" else { return false }
        } else if control.noStore {
            return false
        }
        guard !CacheControl(request: requestFields).noStore else { return false }
        // It could answer no request.
        guard VaryList(fields) != .anything else { return false }
        return control.isPublic || control.isPrivate || control.maxAge != nil || fields.contains(.expires)
            || CachedResponse.isHeuristicallyCacheable(status)
    }

    /// Whether a status answers the range, the preconditions or the expectation of its request, or its sender's rate, and so
    /// no other request (RFC 9110 §13, §14 and §15.5.18; RFC 6585 forbids to store its own).
    private static func isForThisRequest(_ status: Int) -> Bool {
        switch status {
        case 206, 304, 412, 416, 417, 428, 429, 431, 511: true
        default: false
        }
    }

    /// The fields to store with a response: without those that concern only the connection (RFC 9111 §3.1).
    package static func storedFields(of fields: HeaderFields) -> HeaderFields {
        var stored = fields
        for name in fields.listElements(of: .connection).map({ FieldName($0) }) + hopByHop
        where fields.contains(name) { stored.removeAll(name) }
        return stored
    }

    /// Whether a response invalidates the stored responses for its target (RFC 9111 §4.4): a method that is not known to
    /// be safe has succeeded.
    package static func invalidates(method: RequestMethod, status: Int) -> Bool {
        !method.isSafe && (200...399).contains(status)
    }

    /// The references besides the target whose stored responses such a response invalidates too, as written. The caller
    /// must ignore those of another origin, or any server could empty a cache.
    package static func invalidatedReferences(by fields: HeaderFields) -> [String] {
        [.location, .contentLocation].compactMap { fields.values(of: $0).first }
    }

    private static let hopByHop: [FieldName] = [
        .connection, .keepAlive, .proxyConnection, .proxyAuthenticate, .proxyAuthorization,
        "Proxy-Authentication-Info", .te, .trailer, .transferEncoding, .upgrade,
    ]
}
