/// What a private cache may store, and what it must remove.
package enum CacheStorage {
    /// Whether the response may be stored (RFC 9111 §3). Purl stores only complete responses to GET.
    package static func mayStore(
        method: RequestMethod, requestFields: HeaderFields, status: Int, fields: HeaderFields
    ) -> Bool {
        guard method == .get, (200...599).contains(status), status != 206, status != 304 else { return false }
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
