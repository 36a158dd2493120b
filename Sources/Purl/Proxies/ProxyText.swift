import Foundation
internal import PurlConnections
internal import PurlIO

// Proxies as users write them: a host, a URL, or variables of the environment.

extension HTTPProxy {
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
        let named = url.user(percentEncoded: false).flatMap { $0.isEmpty ? nil : $0 }
        self.init(
            endpoint: .host(host, port: try Self.number(of: port) ?? ownPort), user: user ?? named,
            password: password ?? (user == nil ? url.password(percentEncoded: false) : nil))
    }

    /// The number of a port that is set beside a host; `nil` where none is.
    fileprivate static func number(of port: Int?) throws(ProxyFault) -> UInt16? {
        guard let port else { return nil }
        guard let number = UInt16(exactly: port), number > 0 else { throw .badPort("\(port)") }
        return number
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
        // A URL has the scope encoded (RFC 6874 §2).
        return "[\(text.replacing("%", with: "%25"))]"
    }

    /// A text for an error, which ends in logs: without what may be a password.
    static func hidingUser(_ text: String) -> String {
        // By bytes: with the letter that follows an "@" may be one `Character`.
        let bytes = text.utf8
        guard let end = bytes.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return String(decoding: bytes[bytes.index(after: end)...], as: UTF8.self)
    }
}

extension SOCKSProxy {
    /// IANA's port for SOCKS.
    private static let defaultPort: UInt16 = 1080

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
        let url = URL(string: text)
        let named = url?.user(percentEncoded: false).flatMap { $0.isEmpty ? nil : $0 }
        self.init(
            endpoint: .host(host, port: try HTTPProxy.number(of: port) ?? ownPort ?? Self.defaultPort),
            user: user ?? named,
            password: password ?? (user == nil ? url?.password(percentEncoded: false) : nil))
    }

    /// Whether URLs of this scheme, in small letters, name a SOCKS 5 proxy. It looks names up itself with both.
    static func isScheme(_ scheme: String) -> Bool { scheme == "socks5" || scheme == "socks5h" }

    /// Whether a text is a URL of such a proxy.
    static func isNamed(by text: String) -> Bool {
        text.contains("://") && text.split(separator: ":").first.map { isScheme($0.lowercased()) } ?? false
    }
}

extension Proxy {
    /// The proxy that a variable of the environment names.
    init(_ text: String) throws(ProxyFault) {
        self = SOCKSProxy.isNamed(by: text) ? .socks(try SOCKSProxy(text)) : .http(try HTTPProxy(text))
    }
}

extension ProxyRules {
    /// The proxy variables of the process's environment.
    ///
    /// `HTTP_PROXY` is none of them: a server that runs a program for a request (RFC 3875 §4.1.18) turns that request's
    /// `Proxy` field into it.
    static var variables: [String: String] {
        let names = [
            "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ]
        return names.reduce(into: [:]) { $0[$1] = Environment.value(of: $1) }
    }

    /// The rules of `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. A variable that is empty counts as missing.
    init(environment: [String: String]) {
        func value(_ names: String...) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
        func proxy(_ text: String?) -> Result<Proxy, ProxyFault>? {
            text.map { text in Result { () throws(ProxyFault) in try Proxy(text) } }
        }
        let plain = proxy(value("http_proxy", "all_proxy", "ALL_PROXY"))
        let secure = proxy(value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"))
        guard plain != nil || secure != nil else {
            self.init()
            return
        }
        let exceptions = value("no_proxy", "NO_PROXY")?.split { $0 == "," || $0.isWhitespace } ?? []
        self.init(
            plain, secure: secure,
            except: HostPattern.thisMachine + exceptions.compactMap { HostPattern($0) })
    }
}
