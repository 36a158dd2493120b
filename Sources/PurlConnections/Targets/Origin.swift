internal import PurlHTTP
package import PurlIO

/// A URL's scheme, host and port: what one server answers for (RFC 9110 §4.3.1).
package struct Origin: Hashable, Sendable {
    /// In small letters.
    package let scheme: String
    /// With the scheme's port where the URL has none; the host in small letters, the path of a local socket as it is.
    package let endpoint: Endpoint

    /// It is reached over TLS. Asked several times a request, and so kept.
    package let isSecure: Bool

    package init(scheme: String, endpoint: Endpoint) {
        self.scheme = scheme
        isSecure = Self.isSecure(scheme)
        self.endpoint = endpoint
    }

    /// The origin of a URL of any scheme, from its text. Where it has no authority, the host is empty.
    ///
    /// - Returns: `nil` when the URL has no scheme, or its authority cannot be read.
    package init?(_ text: String) {
        guard let parts = URLParts(text) else { return nil }
        scheme = parts.scheme
        isSecure = Self.isSecure(scheme)
        if scheme == Self.localScheme {
            guard let path = parts.socketPath else { return nil }
            endpoint = .unix(path: path)
        } else {
            guard let (host, port) = parts.hostAndPort else { return nil }
            // No server listens on port 0, so it can stand for the unknown port of an unknown scheme.
            endpoint = .host(host.lowercased(), port: port ?? Self.defaultPorts[scheme] ?? 0)
        }
    }

    package var isWebSocket: Bool { scheme == "ws" || scheme == "wss" }
    package var isStream: Bool { scheme == Self.streamScheme }

    private static func isSecure(_ scheme: String) -> Bool { scheme == "https" || scheme == "wss" }

    /// HTTP over a socket of this machine, whose percent-encoded path is the URL's host.
    package static let localScheme = "http+unix"

    /// A stream task's server, which is a host and a port. No URL of this scheme is ever loaded.
    package static let streamScheme = "tcp"

    /// The ports of schemes that have one of their own.
    static let defaultPorts: [String: UInt16] = ["http": 80, "ws": 80, "https": 443, "wss": 443]
}

/// The parts of a URL's text (RFC 3986 §3), by their positions. The text is ASCII, and is read once a request: bytes are
/// taken apart, not characters.
package struct URLParts {
    private let text: String
    /// In small letters.
    package let scheme: String
    /// The host and the port, without a user; `nil` when no "//" follows the scheme.
    private let authority: Range<Int>?
    /// From the authority's end to the fragment.
    private let pathAndQuery: Range<Int>

    /// - Returns: `nil` when the text has no scheme.
    package init?(_ text: String) {
        let bytes = text.utf8.span
        guard let schemeEnd = bytes.position(of: ":", in: 0..<bytes.count) else { return nil }
        self.text = text
        scheme = bytes.isHTTP(0..<schemeEnd) ? "http" : Self.part(text, 0..<schemeEnd).lowercased()
        let end = bytes.position(of: "#", in: schemeEnd..<bytes.count) ?? bytes.count
        let start = schemeEnd + 3
        guard start <= end, bytes[start - 2] == UInt8(ascii: "/"), bytes[start - 1] == UInt8(ascii: "/") else {
            authority = nil
            pathAndQuery = schemeEnd + 1..<end
            return
        }
        var authorityEnd = start
        while authorityEnd < end, bytes[authorityEnd] != UInt8(ascii: "/"), bytes[authorityEnd] != UInt8(ascii: "?") {
            authorityEnd += 1
        }
        let user = bytes.lastPosition(of: "@", in: start..<authorityEnd)
        authority = (user.map { $0 + 1 } ?? start)..<authorityEnd
        pathAndQuery = authorityEnd..<end
    }

    package var hasAuthority: Bool { authority != nil }

    /// The text up to the path, as it was written.
    package var beginning: String { Self.part(text, 0..<pathAndQuery.lowerBound) }

    /// Path and query, percent-encoded; at least a slash (RFC 9112 §3.2.1), and without dot segments.
    package var originForm: String {
        let part = Self.part(text, pathAndQuery)
        return Self.resolved(part.utf8.first == UInt8(ascii: "/") ? part : "/" + part)
    }

    /// The path of a local socket, which is the host; `nil` when it is not an absolute path, or when a port follows,
    /// which no such socket has. A colon of the path is percent-encoded.
    var socketPath: String? {
        guard let authority, text.utf8.span.position(of: ":", in: authority) == nil,
            let path = Self.part(text, authority).percentDecoded, path.hasPrefix("/")
        else { return nil }
        return path
    }

    /// The host, decoded and without brackets, and the port, if the URL has one; `nil` when they cannot be read.
    package var hostAndPort: (host: String, port: UInt16?)? {
        guard let authority else { return ("", nil) }
        let bytes = text.utf8.span
        var host = authority
        var port: UInt16?
        let hostEnd = bytes.lastPosition(of: "]", in: authority) ?? authority.lowerBound
        if let colon = bytes.lastPosition(of: ":", in: hostEnd..<authority.upperBound) {
            if colon + 1 < authority.upperBound {
                guard let number = UInt16(Self.part(text, (colon + 1)..<authority.upperBound)), number > 0 else {
                    return nil
                }
                port = number
            }
            host = authority.lowerBound..<colon
        }
        var isAddress = false
        if let first = host.first, let last = host.last, first < last, bytes[first] == UInt8(ascii: "["),
            bytes[last] == UInt8(ascii: "]")
        {
            host = (first + 1)..<last
            isAddress = true
        }
        guard bytes.position(of: "%", in: host) != nil else { return (Self.part(text, host), port) }
        guard let decoded = Self.part(text, host).percentDecoded,
            isAddress ? decoded.isScopedAddress : decoded.isName
        else { return nil }
        return (decoded, port)
    }

    /// The path and query of a text that begins like another URL, up to that URL's path; `nil` when it does not, or
    /// has no path.
    package static func originForm(of text: String, after beginning: String) -> String? {
        let bytes = text.utf8.span
        guard let path = bytes.pathStart(after: beginning.utf8.span) else { return nil }
        return resolved(part(text, path..<(bytes.position(of: "#", in: path..<bytes.count) ?? bytes.count)))
    }

    /// A path, with a query or without, that has no segments "." and ".." (RFC 3986 §5.2.4): the server resolves them, or
    /// takes them for an attack.
    package static func resolved(_ originForm: String) -> String {
        guard originForm.utf8.span.pathHasSegmentThatBeginsWithDot else { return originForm }
        let path = originForm.prefix { $0 != "?" }
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for segment in segments {
            switch segment {
            case ".": break
            case "..": _ = kept.popLast()
            default: kept.append(segment)
            }
        }
        // What such a segment names is a folder.
        if segments.last == "." || segments.last == ".." { kept.append("") }
        return "/" + kept.joined(separator: "/") + originForm[path.endIndex...]
    }

    private static func part(_ text: String, _ range: Range<Int>) -> String {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        return String(text[start..<text.utf8.index(start, offsetBy: range.count)])
    }
}

extension String {
    /// Whether a host that was percent-encoded can be the name of one. Characters that end a host, or that separate a scope,
    /// a port or a user from it, would mean another host wherever the name is used (in `Host`, in a certificate, for cookies).
    fileprivate var isName: Bool {
        utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } && !contains { "#%/:<>?@[\\]^|\"".contains($0) }
    }

    /// Whether it is an IPv6 address with the scope that is written "%25eth0" in a URL (RFC 6874).
    fileprivate var isScopedAddress: Bool {
        guard let percent = firstIndex(of: "%") else { return false }
        let scope = self[index(after: percent)...]
        return contains(":") && self[..<percent].allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
            && !scope.isEmpty && scope.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._~".contains($0)) }
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

    /// Of an origin-form.
    fileprivate var pathHasSegmentThatBeginsWithDot: Bool {
        var previous: UInt8 = 0
        for index in indices {
            if self[index] == UInt8(ascii: "?") { return false }
            if previous == UInt8(ascii: "/"), self[index] == UInt8(ascii: ".") { return true }
            previous = self[index]
        }
        return false
    }

    fileprivate func isHTTP(_ range: Range<Int>) -> Bool {
        range.count == 4 && self[0] == UInt8(ascii: "h") && self[1] == UInt8(ascii: "t")
            && self[2] == UInt8(ascii: "t") && self[3] == UInt8(ascii: "p")
    }
}
