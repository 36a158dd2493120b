import Foundation
internal import PurlHTTP

/// All that a cookie says.
struct CookieContent: Hashable, Codable, Sendable {
    var name: String
    var value: String
    /// In lower case. A leading dot means the hosts below it as well.
    var domain: String
    var path: String
    /// `nil`: until the session ends.
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

    /// Whether it can stand in a `Cookie` field and be read there as it is meant: no controls, no ";" anywhere, and no
    /// "=" in the name.
    var isSound: Bool {
        Self.isPlain(name) && Self.isPlain(value) && Self.isPlain(domain) && Self.isPlain(path)
            && !name.utf8.contains(UInt8(ascii: "=")) && !(name.isEmpty && value.isEmpty) && !domain.isEmpty
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }

    /// How the cookie stands in a `Cookie` field (RFC 6265bis §5.8.3 step 4).
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// The end of the year 9999: no cookie is kept longer, and every calendar can write it.
    static let lastDate = Date(timeIntervalSince1970: 253_402_300_799)

    /// The moment that many seconds after `now`, within what a calendar can write.
    static func date(_ seconds: TimeInterval, after now: Date) -> Date {
        max(.distantPast, min(lastDate, now + seconds))
    }
}

extension CookieContent {
    /// What a server's `Set-Cookie` field comes to; `nil` when the field breaks a rule that needs no storage to be
    /// known.
    ///
    /// - Parameters:
    ///   - target: What the response answers.
    ///   - longest: How long, in seconds, the cookie may live at most.
    init?(_ field: SetCookie, from target: CookieTarget, at now: Date, longest: TimeInterval = .infinity) {
        name = field.name
        value = field.value
        // RFC 6265bis §5.7 steps 9 and 10: a domain that covers one host makes the cookie that host's own.
        domain =
            field.domain.isEmpty
            ? target.host : CookieDomain.coversSubdomains(field.domain) ? "." + field.domain : field.domain
        // §5.6.4
        path = field.path.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? CookiePath.standard(for: target.path)
        isSecure = field.isSecure
        isHTTPOnly = field.isHTTPOnly
        switch field.lifetime {
        case .session: expires = nil
        // §5.6.2: nothing and less means the earliest time there is.
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
