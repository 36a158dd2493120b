internal import PurlIO

/// One entry of a list of hosts that are reached without a proxy: an exception of a configuration, or a part of
/// `no_proxy`.
struct HostPattern: Hashable, Sendable {
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

    private let kind: Kind
    /// The only port that is meant; `nil` for any.
    private let port: UInt16?

    /// `nil` when the text can mean no host at all.
    init?(_ text: some StringProtocol) {
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
        } else if name.contains("*") {
            kind = .wildcard(String(name))
        } else {
            let domain = name.trimming(while: { $0 == "." })
            guard !domain.isEmpty, !domain.contains("/") else { return nil }
            kind = .domain(String(domain))
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
