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
    var isWebSocket: Bool { scheme == "ws" }
    var isStream: Bool { scheme == StreamAddress.scheme }

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
    /// The URL's text up to its path, as it was written.
    private let beginning: String
    /// The absolute-form, for a proxy (RFC 9112 §3.2.2): without a user, who is the server's business alone.
    var absoluteForm: String { "\(origin.scheme)://\(hostField)\(originForm)" }

    /// Why a URL cannot be loaded.
    enum Refusal: Error {
        case noURL
        case noHost
        case secureScheme(String)
        case unknownScheme(String)
        /// A scheme for another kind of task.
        case wrongTask(String)
        case badAuthority
    }

    /// - Parameter known: What another URL means. One that begins in the same way leads to the same server.
    init(_ url: URL?, like known: RequestTarget? = nil) throws(Refusal) {
        guard let url = url?.absoluteURL else { throw .noURL }
        // A URL's text is ASCII, and this runs once a request: bytes are taken apart, not characters.
        let text = url.absoluteString
        let bytes = text.utf8.span
        if let known, let path = bytes.pathStart(after: known.beginning.utf8.span) {
            let end = bytes.position(of: "#", in: path..<bytes.count) ?? bytes.count
            (origin, hostField, beginning) = (known.origin, known.hostField, known.beginning)
            originForm = Self.part(text, path..<end)
            return
        }
        guard let schemeEnd = bytes.position(of: ":", in: 0..<bytes.count) else { throw .unknownScheme("") }
        let scheme = bytes.isHTTP(0..<schemeEnd) ? "http" : Self.part(text, 0..<schemeEnd).lowercased()
        switch scheme {
        case "http", "http+unix", "ws", StreamAddress.scheme: break
        case "https", "wss": throw .secureScheme(scheme)
        default: throw .unknownScheme(scheme)
        }
        let start = schemeEnd + 3
        guard start <= bytes.count, bytes[start - 2] == UInt8(ascii: "/"), bytes[start - 1] == UInt8(ascii: "/") else {
            throw .noHost
        }
        let end = bytes.position(of: "#", in: start..<bytes.count) ?? bytes.count
        var authorityEnd = start
        while authorityEnd < end, bytes[authorityEnd] != UInt8(ascii: "/"), bytes[authorityEnd] != UInt8(ascii: "?") {
            authorityEnd += 1
        }
        let user = bytes.lastPosition(of: "@", in: start..<authorityEnd)
        let authority = (user.map { $0 + 1 } ?? start)..<authorityEnd
        beginning = Self.part(text, 0..<authorityEnd)
        let pathAndQuery = Self.part(text, authorityEnd..<end)
        originForm = pathAndQuery.utf8.first == UInt8(ascii: "/") ? pathAndQuery : "/" + pathAndQuery
        if scheme == "http+unix" {
            guard let path = Self.part(text, authority).removingPercentEncoding, path.hasPrefix("/") else {
                throw .badAuthority
            }
            origin = Origin(scheme: scheme, endpoint: .unix(path: path))
            hostField = "localhost"
        } else {
            let (host, port) = try Self.split(text, authority)
            origin = Origin(scheme: scheme, endpoint: .host(host.lowercased(), port: port))
            hostField = port == 80 ? Self.bracketed(host) : "\(Self.bracketed(host)):\(port)"
        }
    }

    private static func split(_ text: String, _ authority: Range<Int>) throws(Refusal) -> (host: String, port: UInt16) {
        let bytes = text.utf8.span
        var host = authority
        var port: UInt16 = 80
        let hostEnd = bytes.lastPosition(of: "]", in: authority) ?? authority.lowerBound
        if let colon = bytes.lastPosition(of: ":", in: hostEnd..<authority.upperBound) {
            if colon + 1 < authority.upperBound {
                guard let number = UInt16(part(text, (colon + 1)..<authority.upperBound)), number > 0 else {
                    throw .badAuthority
                }
                port = number
            }
            host = authority.lowerBound..<colon
        }
        if let first = host.first, let last = host.last, first < last, bytes[first] == UInt8(ascii: "["),
            bytes[last] == UInt8(ascii: "]")
        {
            host = (first + 1)..<last
        }
        guard !host.isEmpty else { throw .noHost }
        // A scope is written "%25eth0" in a URL (RFC 6874).
        guard bytes.position(of: "%", in: host) != nil else { return (part(text, host), port) }
        guard let decoded = part(text, host).removingPercentEncoding else { throw .badAuthority }
        return (decoded, port)
    }

    private static func part(_ text: String, _ range: Range<Int>) -> String {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        return String(text[start..<text.utf8.index(start, offsetBy: range.count)])
    }

    private static func bracketed(_ host: String) -> String {
        guard host.utf8.contains(UInt8(ascii: ":")) else { return host }
        // A scope means something to this machine only and is not sent (RFC 6874 §4).
        return "[\(host.prefix { $0 != "%" })]"
    }
}

extension Span<UInt8> {
    fileprivate func position(of character: Unicode.Scalar, in range: Range<Int>) -> Int? {
        for index in range where self[index] == UInt8(ascii: character) { return index }
        return nil
    }

    fileprivate func lastPosition(of character: Unicode.Scalar, in range: Range<Int>) -> Int? {
        for index in range.reversed() where self[index] == UInt8(ascii: character) { return index }
        return nil
    }

    /// Where the path begins, when these bytes are those of `beginning` and then a path.
    fileprivate func pathStart(after beginning: Span<UInt8>) -> Int? {
        guard count > beginning.count, self[beginning.count] == UInt8(ascii: "/") else { return nil }
        for index in 0..<beginning.count where self[index] != beginning[index] { return nil }
        return beginning.count
    }

    fileprivate func isHTTP(_ range: Range<Int>) -> Bool {
        range.count == 4 && self[0] == UInt8(ascii: "h") && self[1] == UInt8(ascii: "t")
            && self[2] == UInt8(ascii: "t") && self[3] == UInt8(ascii: "p")
    }
}
