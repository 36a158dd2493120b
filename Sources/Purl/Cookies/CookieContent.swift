import Foundation
internal import PurlConnections
internal import PurlHTTP

/// A cookie's name, value and attributes.
struct CookieContent: Hashable, Codable, Sendable {
    var name: String
    var value: String
    /// In lower case. A leading dot means the hosts below it as well.
    var domain: String
    var path: String
    /// `nil`: when the session ends.
    var expires: Date?
    var isSecure = false
    var isHTTPOnly = false
    /// In lower case.
    var sameSite: String?
    var version = 0
    var comment: String?
    var commentURL: String?
    /// `nil`: all of them.
    var ports: [Int]?

    /// Whether a `Cookie` field with it is read as it is meant: no control characters, no ";" anywhere, and no "=" in
    /// the name.
    var isSound: Bool {
        Self.isPlain(name) && Self.isPlain(value) && Self.isPlain(domain) && Self.isPlain(path)
            && !name.utf8.contains(UInt8(ascii: "=")) && !(name.isEmpty && value.isEmpty) && !domain.isEmpty
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }

    /// The cookie's part of a `Cookie` field (RFC 6265bis §5.8.3 step 4).
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// The end of the year 9999: no cookie is kept longer, and every calendar can write it.
    static let lastDate = Date(timeIntervalSince1970: 253_402_300_799)

    /// The moment that many seconds after `now`, within what a calendar can write.
    static func date(_ seconds: TimeInterval, after now: Date) -> Date {
        max(.distantPast, min(lastDate, now + seconds))
    }
}

extension CookieContent {
    /// The cookie of a server's `Set-Cookie` field; `nil` when the field breaks a rule that does not depend on a
    /// storage.
    ///
    /// - Parameters:
    ///   - target: The URL of the request.
    ///   - longest: How long, in seconds, the cookie may live at most.
    init?(_ field: SetCookie, from target: CookieURL, at now: Date, longest: TimeInterval = .infinity) {
        name = field.name
        value = field.value
        // RFC 6265bis §5.7 step 10: without a domain the cookie is the host's own.
        domain =
            field.domain.isEmpty
            ? target.host : CookieDomain.isAddress(field.domain) ? field.domain : "." + field.domain
        // §5.6.4
        path = field.path.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? CookiePath.standard(for: target.path)
        isSecure = field.isSecure
        isHTTPOnly = field.isHTTPOnly
        comment = field.comment
        commentURL = field.commentURL.flatMap { URL(string: $0)?.absoluteString }
        switch field.lifetime {
        case .session: expires = nil
        // §5.6.2: zero and less mean the earliest time there is.
        case .seconds(...0): expires = .distantPast
        case .seconds(let seconds): expires = Self.date(min(TimeInterval(seconds), longest), after: now)
        case .until(let date):
            expires = min(
                Date(timeIntervalSince1970: TimeInterval(date.secondsSinceEpoch)), Self.date(longest, after: now))
        }
        switch field.sameSite {
        case .unstated: break
        case .none:
            // §5.7 step 19
            guard isSecure else { return nil }
            sameSite = "none"
        case .lax: sameSite = "lax"
        case .strict: sameSite = "strict"
        }
        // §5.7 step 21: the path has to be stated, too.
        if CookiePrefix(name) == .host, field.path == nil { return nil }
        guard isSound else { return nil }
    }
}

/// A cookie as the dictionary of `HTTPCookie.properties`.
extension CookieContent {
    /// `nil` when a required attribute is missing, a text would break a line, or none of the ports can be read: such a cookie
    /// would go to all of them. Other attributes that cannot be read are left out.
    init?(properties: [HTTPCookiePropertyKey: Any], at now: Date) {
        guard let name = Self.text(properties[.name]), let value = Self.text(properties[.value]),
            let path = Self.text(properties[.path]),
            let domain = Self.text(properties[.domain]) ?? Self.url(properties[.originURL])?.host(percentEncoded: false)
        else { return nil }
        self.name = name
        self.value = value
        self.path = path
        self.domain = CookieDomain.canonical(domain)
        version = Self.text(properties[.version]) == "1" ? 1 : 0
        isSecure = Self.isTrue(properties[.secure])
        isHTTPOnly = Self.isTrue(properties[.httpOnly])
        comment = Self.text(properties[.comment])
        commentURL = Self.url(properties[.commentURL])?.absoluteString
        let policy = properties[.sameSitePolicy]
        sameSite = (Self.text(policy) ?? (policy as? HTTPCookieStringPolicy)?.rawValue)?.lowercased()
        guard takePorts(properties[.port]), isSound else { return nil }
        takeLifetime(properties, at: now)
    }

    private mutating func takePorts(_ property: Any?) -> Bool {
        guard let text = Self.text(property), !text.isEmpty else { return true }
        let numbers = text.split(separator: ",").compactMap { UInt16($0.trimmingCharacters(in: .whitespaces)) }
        guard !numbers.isEmpty else { return false }
        ports = (version == 0 ? [numbers[0]] : numbers).map(Int.init)
        return true
    }

    /// Only version 1 has a maximum age. Without one, a version 1 cookie ends with its session unless the dictionary
    /// has `discard` false, as ``properties`` has.
    private mutating func takeLifetime(_ properties: [HTTPCookiePropertyKey: Any], at now: Date) {
        let discard = properties[.discard].map(Self.isTrue)
        if version == 1, let age = Self.text(properties[.maximumAge]) {
            expires = Int64(age).map { $0 > 0 ? Self.date(TimeInterval($0), after: now) : .distantPast }
        } else if version == 0 || discard == false {
            switch properties[.expires] {
            case nil: break
            case let date as Date: expires = max(.distantPast, min(Self.lastDate, date))
            case let other:
                expires = Self.text(other).flatMap(CookieDate.read).map {
                    Date(timeIntervalSince1970: TimeInterval($0.secondsSinceEpoch))
                }
            }
        }
        if discard == true { expires = nil }
    }

    /// The dictionary that makes an equal cookie.
    var properties: [HTTPCookiePropertyKey: Any] {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .domain: domain, .path: path, .version: String(version),
            .discard: expires == nil ? "TRUE" : "FALSE",
        ]
        if let expires { properties[.expires] = expires }
        if isSecure { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[.httpOnly] = "TRUE" }
        if let sameSite { properties[.sameSitePolicy] = sameSite }
        if let comment { properties[.comment] = comment }
        if let commentURL { properties[.commentURL] = commentURL }
        if let ports { properties[.port] = ports.map(String.init).joined(separator: ",") }
        return properties
    }

    private static func text(_ property: Any?) -> String? {
        switch property {
        case let text as String: text
        case let text as Substring: String(text)
        case let number as NSNumber: number.stringValue
        default: nil
        }
    }

    private static func url(_ property: Any?) -> URL? {
        property as? URL ?? text(property).flatMap { URL(string: $0) }
    }

    private static func isTrue(_ property: Any?) -> Bool {
        if let flag = property as? Bool { return flag }
        guard let text = text(property) else { return false }
        return !["", "0", "FALSE", "NO"].contains(text.uppercased())
    }
}

/// The identity of a cookie in a storage (RFC 6265bis §5.7 step 23): a new cookie with the same key replaces the old.
struct CookieKey: Hashable, Sendable {
    let name: String
    /// Without its leading dot.
    let domain: String
    /// Whether the cookie goes to that host alone.
    let isHostOnly: Bool
    let path: String

    init(_ content: CookieContent) {
        let coversMore = content.domain.hasPrefix(".")
        name = content.name
        domain = coversMore ? String(content.domain.dropFirst()) : content.domain
        isHostOnly = !coversMore || !CookieDomain.coversSubdomains(domain)
        path = content.path
    }
}

/// The parts of a URL that decide which cookies it sets and receives.
struct CookieURL: Sendable {
    /// In lower case, an IPv6 address without brackets.
    let host: String
    /// That of the request's target: percent-encoded, "/" at least, without dot segments.
    let path: String
    let port: Int
    /// Whether its connections are secure.
    let isSecure: Bool

    /// `nil` for a URL without a host.
    init?(_ url: URL?) {
        guard let url = url?.absoluteURL, let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        self.host = CookieDomain.canonical(host)
        let path = url.path(percentEncoded: true)
        self.path = path.isEmpty ? "/" : URLParts.resolved(path)
        isSecure = ["https", "wss"].contains(url.scheme?.lowercased())
        port = url.port ?? (isSecure ? 443 : 80)
    }
}
