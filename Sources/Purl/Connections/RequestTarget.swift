import Foundation
internal import PurlIO

/// Who answers for a URL: connections are kept and counted per origin (RFC 9110 §4.3.1).
struct Origin: Hashable, Sendable {
    /// In small letters.
    let scheme: String
    /// With the scheme's port where the URL named none.
    let endpoint: Endpoint

    /// A proxy, which answers for whatever it is asked for: the connections to it are shared by all servers behind it.
    static func proxy(_ endpoint: Endpoint) -> Origin { Origin(scheme: proxyScheme, endpoint: endpoint) }

    var isProxy: Bool { scheme == Self.proxyScheme }

    /// No URL of this scheme is ever loaded from a server.
    private static let proxyScheme = "proxy"
}

/// What a URL means on the wire: where to connect, what to ask for, and the `Host` field.
struct RequestTarget: Sendable {
    let origin: Origin
    /// The origin-form: path and query, percent-encoded (RFC 9112 §3.2.1).
    let originForm: String
    /// The `Host` field's value: no port when it is the scheme's own.
    let hostField: String
    /// The absolute-form, for a proxy (RFC 9112 §3.2.2): without a user, who is the server's business alone.
    var absoluteForm: String { "\(origin.scheme)://\(hostField)\(originForm)" }

    /// Why a URL cannot be loaded.
    enum Refusal: Error {
        case noURL
        case noHost
        case secureScheme(String)
        case unknownScheme(String)
        case badAuthority
    }

    init(_ url: URL?) throws(Refusal) {
        guard let url = url?.absoluteURL else { throw .noURL }
        // A URL's text is ASCII, and this runs once a request: bytes are taken apart, not characters.
        let text = url.absoluteString.utf8
        let scheme = text.starts(with: "http:".utf8) ? "http" : (url.scheme ?? "").lowercased()
        switch scheme {
        case "http", "http+unix": break
        case "https": throw .secureScheme(scheme)
        default: throw .unknownScheme(scheme)
        }
        guard let rest = Self.afterScheme(text) else { throw .noHost }
        let authorityEnd =
            rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
            ?? rest.endIndex
        var authority = rest[..<authorityEnd]
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[authority.index(after: at)...] }
        let pathAndQuery = rest[authorityEnd...].prefix { $0 != UInt8(ascii: "#") }
        let hasPath = pathAndQuery.first == UInt8(ascii: "/")
        originForm = hasPath ? String(Substring(pathAndQuery)) : "/" + Substring(pathAndQuery)
        if scheme == "http+unix" {
            guard let path = Substring(authority).removingPercentEncoding, path.hasPrefix("/") else {
                throw .badAuthority
            }
            origin = Origin(scheme: scheme, endpoint: .unix(path: path))
            hostField = "localhost"
        } else {
            let (host, port) = try Self.split(authority)
            origin = Origin(scheme: scheme, endpoint: .host(host.lowercased(), port: port))
            hostField = port == 80 ? Self.bracketed(host) : "\(Self.bracketed(host)):\(port)"
        }
    }

    private static func afterScheme(_ text: String.UTF8View) -> Substring.UTF8View? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let rest = text[text.index(after: colon)...]
        return rest.starts(with: "//".utf8) ? rest.dropFirst(2) : nil
    }

    private static func split(_ authority: Substring.UTF8View) throws(Refusal) -> (host: String, port: UInt16) {
        var host = authority
        var port: UInt16 = 80
        let hostEnd = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        if let colon = authority[hostEnd...].lastIndex(of: UInt8(ascii: ":")) {
            let digits = authority[authority.index(after: colon)...]
            if !digits.isEmpty {
                guard let number = UInt16(Substring(digits)), number > 0 else { throw .badAuthority }
                port = number
            }
            host = authority[..<colon]
        }
        if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw .noHost }
        // A scope is written "%25eth0" in a URL (RFC 6874).
        guard host.contains(UInt8(ascii: "%")) else { return (String(Substring(host)), port) }
        guard let decoded = Substring(host).removingPercentEncoding else { throw .badAuthority }
        return (decoded, port)
    }

    private static func bracketed(_ host: String) -> String {
        guard host.utf8.contains(UInt8(ascii: ":")) else { return host }
        // A scope means something to this machine only and is not sent (RFC 6874 §4).
        return "[\(host.prefix { $0 != "%" })]"
    }
}
