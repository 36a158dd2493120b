/// Which hosts a cookie's domain covers (RFC 6265bis §5.1.3).
///
/// A domain without a dot inside, such as `com` or `localhost`, and an IP address cover themselves alone. That no
/// server may set a cookie for `co.uk` is the rule of ``PublicSuffixes``.
package enum CookieDomain {
    /// A host in the form that cookies compare: in lower case, an IPv6 address without its brackets (RFC 6265bis §5.1.2). The path of
    /// a local socket stays as it is.
    package static func canonical(_ host: String) -> String {
        if host.hasPrefix("/") { return host }
        let name = host.asciiLowercased
        return name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
    }

    /// Whether a cookie of `domain`, given without a leading dot, is sent to `host`. Both are canonical.
    package static func covers(_ domain: String, host: String) -> Bool {
        if domain == host { return true }
        let (short, long) = (domain.utf8, host.utf8)
        // The checks that most pairs of names fail come first.
        guard short.count < long.count, long.suffix(short.count + 1).first == UInt8(ascii: "."),
            long.suffix(short.count).elementsEqual(short)
        else { return false }
        return coversSubdomains(domain) && !isAddress(host)
    }

    /// Whether the domain is a name of two labels at least, which has hosts below it that belong to it.
    package static func coversSubdomains(_ domain: String) -> Bool {
        let labels = domain.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count > 1 && labels.allSatisfy { !$0.isEmpty && $0.allSatisfy(isNameByte) } && !isAddress(domain)
    }

    /// Whether the host is an IPv6 address or its last label is a number, which no top-level name is: resolvers read
    /// `127.1` and `0x7f.1` as addresses as well.
    package static func isAddress(_ host: String) -> Bool {
        if host.utf8.contains(UInt8(ascii: ":")) { return true }
        guard let last = host.utf8.split(separator: UInt8(ascii: ".")).last, let first = last.first else {
            return false
        }
        if last.allSatisfy({ $0.digitValue != nil }) { return true }
        return first == UInt8(ascii: "0") && last.dropFirst().first == UInt8(ascii: "x")
            && last.dropFirst(2).allSatisfy { $0.hexadecimalValue != nil }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}

/// Which paths a cookie's path covers (RFC 6265bis §5.1.4).
package enum CookiePath {
    /// The path of a cookie whose server sent none, or none that begins with "/": the request's without its last part.
    package static func standard(for requestPath: String) -> String {
        guard requestPath.utf8.first == slash, let last = requestPath.utf8.lastIndex(of: slash),
            last != requestPath.utf8.startIndex
        else { return "/" }
        return String(requestPath[..<last])
    }

    /// Whether a cookie of `path` is sent with a request for `requestPath`. Both are percent-encoded; case counts.
    package static func covers(_ path: String, request requestPath: String) -> Bool {
        let (cookie, request) = (path.utf8, requestPath.utf8)
        guard request.starts(with: cookie) else { return false }
        return request.count == cookie.count || cookie.last == slash
            || request.dropFirst(cookie.count).first == slash
    }

    private static var slash: UInt8 { UInt8(ascii: "/") }
}
