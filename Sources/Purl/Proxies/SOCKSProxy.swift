internal import PurlIO

/// A SOCKS 5 proxy (RFC 1928), and the user and password for it.
struct SOCKSProxy: Hashable, Sendable {
    let endpoint: Endpoint
    let user: String?
    let password: String?
}

/// A proxy of either kind.
enum Proxy: Hashable, Sendable {
    /// Requests are sent to it, or it is asked for tunnels.
    case http(HTTPProxy)
    /// It is asked for connections to the servers, which carry the same bytes as without it.
    case socks(SOCKSProxy)

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
