package import PurlIO

/// A SOCKS 5 proxy (RFC 1928), and the user and password for it.
package struct SOCKSProxy: Hashable, Sendable {
    package let endpoint: Endpoint
    package let user: String?
    package let password: String?

    package init(endpoint: Endpoint, user: String?, password: String?) {
        self.endpoint = endpoint
        self.user = user
        self.password = password
    }
}

/// A proxy of either kind.
package enum Proxy: Hashable, Sendable {
    /// Requests are sent to it, or it is asked for tunnels.
    case http(HTTPProxy)
    /// It is asked for connections to the servers, which carry the same bytes as without it.
    case socks(SOCKSProxy)

    package var endpoint: Endpoint {
        switch self {
        case .http(let proxy): proxy.endpoint
        case .socks(let proxy): proxy.endpoint
        }
    }

    package var user: String? {
        switch self {
        case .http(let proxy): proxy.user
        case .socks(let proxy): proxy.user
        }
    }

    package var password: String? {
        switch self {
        case .http(let proxy): proxy.password
        case .socks(let proxy): proxy.password
        }
    }
}
