internal import PurlHTTP
internal import PurlIO

/// One entry of a list of hosts that are reached without a proxy: an exception of a configuration, or a part of
/// `no_proxy`.
package struct HostPattern: Hashable, Sendable {
    private enum Kind: Hashable {
        /// `*`: every host.
        case all
        /// `example.com` or `.example.com`: that host and those below it.
        case domain(String)
        /// `*.example.com`, `build-*`: a star stands for any characters.
        case wildcard(String)
        /// `127.0.0.1`, `[::1]`, `10.0.0.0/8`.
        case addresses(AddressRange)
    }

    /// The names and addresses of this machine (RFC 6761 §6.3).
    package static let thisMachine = ["localhost", "127.0.0.0/8", "::1", "::ffff:127.0.0.0/104"].compactMap {
        HostPattern($0)
    }

    private let kind: Kind
    /// The only port that is meant; `nil` for any.
    private let port: UInt16?

    /// `nil` when the text can mean no host at all.
    package init?(_ text: some StringProtocol) {
        let text = text.trimming(while: { $0.isWhitespace }).lowercased()
        guard text != "*" else {
            (kind, port) = (.all, nil)
            return
        }
        // Before a port is looked for: the colons of an IPv6 address are none.
        if let range = AddressRange(text) {
            (kind, port) = (.addresses(range), nil)
            return
        }
        var name = text[...]
        if let colon = text.lastIndex(of: ":") {
            guard let number = UInt16(text[text.index(after: colon)...]), number > 0 else { return nil }
            port = number
            name = text[..<colon]
        } else {
            port = nil
        }
        if let range = AddressRange(name) {
            kind = .addresses(range)
            return
        }
        let domain = Punycode.encode(domain: String(name.trimming(while: { $0 == "." })))
        if name.contains("*") {
            kind = .wildcard(domain)
        } else {
            guard !domain.isEmpty, !domain.contains("/") else { return nil }
            kind = .domain(domain)
        }
    }

    func matches(_ host: ProxyRules.Host) -> Bool {
        if let port, port != host.port { return false }
        switch kind {
        case .all: return true
        case .domain(let domain): return host.name == domain || host.name.hasSuffix("." + domain)
        case .wildcard(let pattern): return Self.matches(pattern.utf8, host.name.utf8)
        case .addresses(let range): return host.address.map(range.contains) ?? false
        }
    }

    /// Takes the shortest text for each star first and goes back to the latest star only, which is enough.
    private static func matches(_ pattern: String.UTF8View, _ text: String.UTF8View) -> Bool {
        var (inPattern, inText) = (pattern.startIndex, text.startIndex)
        var retry: (pattern: String.Index, text: String.Index)?
        while inText < text.endIndex {
            if inPattern < pattern.endIndex, pattern[inPattern] == UInt8(ascii: "*") {
                inPattern = pattern.index(after: inPattern)
                retry = (inPattern, inText)
            } else if inPattern < pattern.endIndex, pattern[inPattern] == text[inText] {
                inPattern = pattern.index(after: inPattern)
                inText = text.index(after: inText)
            } else if let again = retry {
                inPattern = again.pattern
                inText = text.index(after: again.text)
                retry = (inPattern, inText)
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

extension StringProtocol {
    fileprivate func trimming(while isOuter: (Character) -> Bool) -> SubSequence {
        let rest = drop(while: isOuter)
        guard let last = rest.lastIndex(where: { !isOuter($0) }) else { return rest }
        return rest[...last]
    }
}

/// Addresses that begin with the same bits (RFC 4632): `10.0.0.0/8`, `fe80::/10`, or one address alone.
struct AddressRange: Hashable, Sendable {
    private let bytes: [UInt8]
    private let bits: Int

    /// `nil` when the text is neither an address in digits nor one with the length of a prefix. Zeros at the end of an
    /// IPv4 prefix may be left out, as in `169.254/16`.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let hasLength = parts.count == 2
        var literal = String(parts.first ?? "")
        if hasLength, !literal.contains(":") {
            let missing = 3 - literal.utf8.count { $0 == UInt8(ascii: ".") }
            if missing > 0 { literal += String(repeating: ".0", count: missing) }
        }
        guard let address = SocketAddress(literal: literal, port: 0) else { return nil }
        bytes = address.bytes
        guard hasLength else {
            bits = bytes.count * 8
            return
        }
        guard let length = parts.last.flatMap({ Int($0) }), (0...bytes.count * 8).contains(length) else { return nil }
        bits = length
    }

    func contains(_ address: SocketAddress) -> Bool {
        let other = address.bytes
        guard other.count == bytes.count else { return false }
        let whole = bits / 8
        guard other[..<whole] == bytes[..<whole] else { return false }
        let rest = bits % 8
        return rest == 0 || (other[whole] ^ bytes[whole]) >> (8 - rest) == 0
    }
}
