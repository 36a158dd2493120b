internal import PurlIO

/// An HTTP proxy, and the user and password for it.
struct HTTPProxy: Hashable, Sendable {
    let endpoint: Endpoint
    let user: String?
    let password: String?
}

/// Why a proxy that was asked for cannot be used.
enum ProxyFault: Error, Hashable, CustomStringConvertible {
    case unreadable(String)
    case noHost
    case badPort(String)
    case unknownScheme(String)
    /// A key of the configuration's dictionary has a value that means nothing.
    case badValue(key: String, value: String)
    /// A kind of proxy that Purl does not speak to.
    case unknownKind(key: String)

    var description: String {
        switch self {
        case .unreadable(let text): "“\(text)” names no proxy"
        case .noHost: "it is enabled, but its host is missing"
        case .badPort(let port): "“\(port)” is no port"
        case .unknownScheme(let scheme):
            "“\(scheme)” proxies are not supported; Purl speaks to “http” and “socks5” ones"
        case .badValue(let key, let value): "“\(value)” is no value for “\(key)”"
        case .unknownKind(let key): "“\(key)” asks for a kind of proxy that Purl does not speak to"
        }
    }
}
