package import PurlIO

/// An HTTP proxy, and the user and password for it.
package struct HTTPProxy: Hashable, Sendable {
    package let endpoint: Endpoint
    package let user: String?
    package let password: String?

    package init(endpoint: Endpoint, user: String?, password: String?) {
        self.endpoint = endpoint
        self.user = user
        self.password = password
    }
}

/// Why a proxy that was asked for cannot be used.
package enum ProxyFault: Error, Hashable, CustomStringConvertible {
    case unreadable(String)
    case noHost
    case badPort(String)
    case unknownScheme(String)
    /// A key of the configuration's dictionary has a value that means nothing.
    case badValue(key: String, value: String)
    /// A kind of proxy that Purl does not speak to.
    case unknownKind(key: String)

    package var description: String {
        switch self {
        case .unreadable(let text): "“\(text)” names no proxy"
        case .noHost: "it is enabled, but its host is missing"
        case .badPort(let port): "“\(port)” is not a port"
        case .unknownScheme(let scheme):
            "“\(scheme)” proxies are not supported; Purl speaks to “http” and “socks5” ones"
        case .badValue(let key, let value): "“\(value)” is not a value for “\(key)”"
        case .unknownKind(let key): "“\(key)” asks for a kind of proxy that Purl does not speak to"
        }
    }
}
