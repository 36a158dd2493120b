import Foundation
internal import PurlHTTP

/// The key of a stored response: GET, the URL without its fragment, and the `Host` that the request sets itself, which names
/// another resource of the same server (RFC 9110 §7.1).
struct CacheKey: Hashable, Sendable {
    /// The URL, normalised; a `Host` of the request's own follows after a space.
    let url: String
    /// A hash of the URL for the names of files, the same for all users and hosts: what changes the resource removes the
    /// responses to all of them. Two URLs may have the same number, so the URL in a file is compared.
    let number: UInt64
    /// Which user and host it is; 0 where the request names none.
    let peer: UInt64

    /// - Parameter host: The request's own `Host`.
    init(_ url: URL, host: String? = nil) {
        let text = url.absoluteString
        // Most URLs are normalised already, and this runs once a request.
        let (whole, resource) =
            Self.isNormal(text.utf8.span) ? (text, text) : Self.normal(text.prefix { $0 != "#" })
        self.url = host.map { "\(whole) \($0.lowercased())" } ?? whole
        number = StableHash(of: resource).value
        peer = self.url == resource ? 0 : StableHash(of: self.url).value
    }

    /// `nil` for a request with another method than GET, which no stored response answers.
    init?(_ request: URLRequest) {
        guard let url = request.url, request.method == .get else { return nil }
        self.init(url, host: request.hasFields ? request.value(forHTTPHeaderField: "Host") : nil)
    }

    /// Normalises a URL. RFC 9110 §4.2.3: capitals in scheme and host, the scheme's default port and an empty path make no
    /// other one.
    ///
    /// - Returns: The URL, and the same without its user.
    private static func normal(_ text: Substring) -> (whole: String, resource: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[colon...].hasPrefix("://"),
            case let scheme = text[..<colon].lowercased(), scheme == "http" || scheme == "https"
        else { return (String(text), String(text)) }
        let start = text.utf8.index(colon, offsetBy: 3)
        let end =
            text.utf8[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? text.endIndex
        let host = text.utf8[start..<end].lastIndex(of: UInt8(ascii: "@")).map { text.utf8.index(after: $0) } ?? start
        var authority = text[host..<end].lowercased()
        let defaultPort = scheme == "http" ? ":80" : ":443"
        if authority.hasSuffix(defaultPort) { authority.removeLast(defaultPort.count) }
        let hasPath = end < text.endIndex && text.utf8[end] == UInt8(ascii: "/")
        let rest = "\(authority)\(hasPath ? "" : "/")\(text[end...])"
        return ("\(scheme)://\(text[start..<host])\(rest)", "\(scheme)://\(rest)")
    }

    /// Whether normalising would change nothing; false when in doubt.
    private static func isNormal(_ text: Span<UInt8>) -> Bool {
        var position = 0
        for byte in "http://".utf8 {
            guard position < text.count, text[position] == byte else { return false }
            position += 1
        }
        while position < text.count, text[position] != UInt8(ascii: "/") {
            let byte = text[position]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || byte & 0xE0 == 0x40 { return false }
            position += 1
        }
        guard position < text.count else { return false }
        if text[position - 3] == UInt8(ascii: ":"), text[position - 2] == UInt8(ascii: "8"),
            text[position - 1] == UInt8(ascii: "0")
        {
            return false
        }
        for index in position..<text.count where text[index] == UInt8(ascii: "#") { return false }
        return true
    }
}

/// The place of one of the responses to a key, which `Vary` and the fields of its request decide (RFC 9111 §4.1).
struct CacheSlot: Hashable, Sendable {
    /// The number of the key.
    let number: UInt64
    /// That of the key's user and host, and what `Vary` names; 0 without all these.
    let variant: UInt64

    init(number: UInt64, variant: UInt64) {
        self.number = number
        self.variant = variant
    }

    /// The place of a response with these fields to a request with those.
    init(_ key: CacheKey, _ fields: HeaderFields, answering requestFields: HeaderFields) {
        number = key.number
        guard case .fields(let names) = VaryList(fields), !names.isEmpty else {
            variant = key.peer
            return
        }
        var hash = StableHash(from: key.peer)
        for name in names.map({ "\($0)".lowercased() }).sorted() {
            hash.combine(name)
            for element in requestFields.listElements(of: FieldName(name)) { hash.combine(element) }
        }
        variant = hash.value
    }
}

/// FNV-1a, which is the same in every process, as Swift's own hashing is not.
private struct StableHash {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// - Parameter start: 0, or another hash that counts, too.
    init(from start: UInt64 = 0) {
        value ^= start
    }

    init(of text: String) {
        combine(text)
    }

    /// Adds a text and its end.
    mutating func combine(_ text: String) {
        let bytes = text.utf8.span
        for index in 0..<bytes.count { combine(bytes[index]) }
        combine(0)
    }

    private mutating func combine(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0100_0000_01b3
    }
}
