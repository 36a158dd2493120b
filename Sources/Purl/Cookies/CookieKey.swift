internal import PurlHTTP

/// What makes two cookies the same one (RFC 6265bis §5.7 step 23). A new one takes the place of the old.
struct CookieKey: Hashable, Sendable {
    let name: String
    /// Without its leading dot.
    let domain: String
    /// Whether the cookie goes to that host alone.
    let isHostOnly: Bool
    let path: String

    init(_ content: CookieContent) {
        let coversMore = content.domain.hasPrefix(".")
        name = content.name
        domain = coversMore ? String(content.domain.dropFirst()) : content.domain
        isHostOnly = !coversMore || !CookieDomain.coversSubdomains(domain)
        path = content.path
    }
}
