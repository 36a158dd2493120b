import Foundation
internal import PurlIO

/// An HTTP proxy, and the user and password for it.
struct HTTPProxy: Hashable, Sendable {
    let endpoint: Endpoint
    let user: String?
    let password: String?

    /// - Parameters:
    ///   - text: A host's name or address, or a URL such as `http://user:password@host:port`. The port is 80 when neither
    ///     has another.
    ///   - port: Goes before the text's.
    init(_ text: String, port: Int? = nil, user: String? = nil, password: String? = nil) throws(ProxyFault) {
        guard let url = Self.url(text) else { throw .unreadable(Self.hidingUser(text)) }
        let scheme = url.scheme?.lowercased() ?? ""
        guard scheme == "http" else { throw .unknownScheme(scheme) }
        guard let target = try? TargetURI(url), case .host(let host, let ownPort) = target.origin.endpoint else {
            throw .unreadable(Self.hidingUser(text))
        }
        if let port {
            guard let number = UInt16(exactly: port), number > 0 else { throw .badPort("\(port)") }
            endpoint = .host(host, port: number)
        } else {
            endpoint = .host(host, port: ownPort)
        }
        let named = url.user(percentEncoded: false).flatMap { $0.isEmpty ? nil : $0 }
        self.user = user ?? named
        self.password = password ?? (user == nil ? url.password(percentEncoded: false) : nil)
    }

    private static func url(_ text: String) -> URL? {
        if text.contains("://") { return URL(string: text) }
        return URL(string: "http://" + bracketed(text))
    }

    /// A host as a URL has it: an IPv6 address may be written without brackets where it cannot be mistaken.
    static func bracketed(_ text: String) -> String {
        guard let address = SocketAddress(literal: text, port: 0), address.family == .ipv6, !text.hasPrefix("[") else {
            return text
        }
        return "[\(text)]"
    }

    /// A text for an error, which ends in logs: without what may be a password.
    static func hidingUser(_ text: String) -> String {
        text.lastIndex(of: "@").map { String(text[text.index(after: $0)...]) } ?? text
    }
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
