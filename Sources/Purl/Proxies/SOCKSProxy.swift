import Foundation
internal import PurlHTTP
internal import PurlIO

/// A SOCKS 5 proxy (RFC 1928), and the user and password for it.
struct SOCKSProxy: Hashable, Sendable {
    /// IANA's port for SOCKS.
    private static let defaultPort: UInt16 = 1080

    let endpoint: Endpoint
    let user: String?
    let password: String?

    /// - Parameters:
    ///   - text: A host's name or address, or a URL such as `socks5://user:password@host:port`.
    ///   - port: Goes before the text's; 1080 when neither has one.
    init(_ text: String, port: Int? = nil, user: String? = nil, password: String? = nil) throws(ProxyFault) {
        let shown = HTTPProxy.hidingUser(text)
        let text = text.contains("://") ? text : "socks5://" + HTTPProxy.bracketed(text)
        guard let parts = URLParts(text), parts.hasAuthority, let (host, ownPort) = parts.hostAndPort, !host.isEmpty
        else {
            throw .unreadable(shown)
        }
        guard Self.isScheme(parts.scheme) else { throw .unknownScheme(parts.scheme) }
        if let port {
            guard let number = UInt16(exactly: port), number > 0 else { throw .badPort("\(port)") }
            endpoint = .host(host, port: number)
        } else {
            endpoint = .host(host, port: ownPort ?? Self.defaultPort)
        }
        let url = URL(string: text)
        let named = url?.user(percentEncoded: false).flatMap { $0.isEmpty ? nil : $0 }
        self.user = user ?? named
        self.password = password ?? (user == nil ? url?.password(percentEncoded: false) : nil)
    }

    /// Whether URLs of this scheme, in small letters, name a SOCKS 5 proxy. It looks names up itself with both.
    static func isScheme(_ scheme: String) -> Bool { scheme == "socks5" || scheme == "socks5h" }

    /// Whether a text is a URL of such a proxy.
    static func isNamed(by text: String) -> Bool {
        text.contains("://") && text.split(separator: ":").first.map { isScheme($0.lowercased()) } ?? false
    }
}

/// A proxy of either kind.
enum Proxy: Hashable, Sendable {
    /// Requests are sent to it, or it is asked for tunnels.
    case http(HTTPProxy)
    /// It is asked for connections to the servers, which carry the same bytes as without it.
    case socks(SOCKSProxy)

    /// The proxy that a variable of the environment names.
    init(_ text: String) throws(ProxyFault) {
        self = SOCKSProxy.isNamed(by: text) ? .socks(try SOCKSProxy(text)) : .http(try HTTPProxy(text))
    }

    var endpoint: Endpoint {
        switch self {
        case .http(let proxy): proxy.endpoint
        case .socks(let proxy): proxy.endpoint
        }
    }

    var user: String? {
        switch self {
        case .http(let proxy): proxy.user
        case .socks(let proxy): proxy.user
        }
    }

    var password: String? {
        switch self {
        case .http(let proxy): proxy.password
        case .socks(let proxy): proxy.password
        }
    }
}
