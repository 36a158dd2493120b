import Foundation
internal import PurlHTTP

/// What of a URL decides about cookies.
struct CookieTarget: Sendable {
    /// In lower case, an IPv6 address without brackets.
    let host: String
    /// Percent-encoded, "/" at least.
    let path: String
    let port: Int
    /// Whether nobody on the way can read along.
    let isSecure: Bool

    /// `nil` for a URL without a host.
    init?(_ url: URL?) {
        guard let url = url?.absoluteURL, let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        self.host = CookieDomain.canonical(host)
        let path = url.path(percentEncoded: true)
        self.path = path.isEmpty ? "/" : path
        isSecure = ["https", "wss"].contains(url.scheme?.lowercased())
        port = url.port ?? (isSecure ? 443 : 80)
    }
}
