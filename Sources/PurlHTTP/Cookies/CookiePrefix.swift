/// What the beginning of a cookie's name promises (RFC 6265bis §4.1.3, §5.7 steps 20 to 22).
package enum CookiePrefix: Sendable, Hashable {
    /// `__Secure-`: set and sent over secure connections alone.
    case secure
    /// `__Host-`: that, and by and for one host with all of its paths.
    case host

    /// The promise of a name, whatever its case; nil for a name that makes none.
    package init?(_ name: String) {
        if Self.begins(name, with: "__secure-") {
            self = .secure
        } else if Self.begins(name, with: "__host-") {
            self = .host
        } else {
            return nil
        }
    }

    /// Whether a cookie keeps what its name promises. A value that has no name must not look like one that promises.
    package static func isKept(name: String, value: String, isSecure: Bool, isHostOnly: Bool, path: String) -> Bool {
        if name.isEmpty { return CookiePrefix(value) == nil }
        switch CookiePrefix(name) {
        case nil: return true
        case .secure: return isSecure
        case .host: return isSecure && isHostOnly && path == "/"
        }
    }

    private static func begins(_ name: String, with prefix: String) -> Bool {
        name.utf8.count >= prefix.utf8.count && zip(name.utf8, prefix.utf8).allSatisfy { $0.lowercased == $1 }
    }
}
