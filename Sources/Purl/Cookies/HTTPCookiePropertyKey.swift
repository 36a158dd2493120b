import Foundation

/// The name of an attribute in the dictionary that ``HTTPCookie/init(properties:)`` takes.
public struct HTTPCookiePropertyKey: RawRepresentable, Equatable, Hashable, Sendable {
    public private(set) var rawValue: String

    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension HTTPCookiePropertyKey {
    /// The cookie's name. Needed.
    public static let name = HTTPCookiePropertyKey("Name")
    /// The cookie's value. Needed.
    public static let value = HTTPCookiePropertyKey("Value")
    /// The URL that set the cookie, as `URL` or text. It stands in for a missing ``domain``.
    public static let originURL = HTTPCookiePropertyKey("OriginURL")
    /// "0" (the default) or "1".
    public static let version = HTTPCookiePropertyKey("Version")
    /// The host the cookie goes to; with a leading dot, the hosts below it as well.
    public static let domain = HTTPCookiePropertyKey("Domain")
    /// The path below which the cookie is sent. Needed.
    public static let path = HTTPCookiePropertyKey("Path")
    /// "TRUE" for a cookie that is sent over secure connections alone.
    public static let secure = HTTPCookiePropertyKey("Secure")
    /// When the cookie is over, as `Date` or text. Of version 1 cookies `maximumAge` decides where there is one.
    public static let expires = HTTPCookiePropertyKey("Expires")
    /// What the cookie is for, to be shown to people.
    public static let comment = HTTPCookiePropertyKey("Comment")
    /// Where more about that is told, as `URL` or text.
    public static let commentURL = HTTPCookiePropertyKey("CommentURL")
    /// "TRUE" for a cookie that is over with its session.
    public static let discard = HTTPCookiePropertyKey("Discard")
    /// How long the cookie is kept, in seconds, as text. Version 1 only.
    public static let maximumAge = HTTPCookiePropertyKey("Max-Age")
    /// The ports the cookie goes to, as text with commas. A version 0 cookie has one at most.
    public static let port = HTTPCookiePropertyKey("Port")
    /// The cookie's ``HTTPCookieStringPolicy``.
    public static let sameSitePolicy = HTTPCookiePropertyKey("SameSite")

    /// "TRUE" for a cookie with the `HttpOnly` attribute.
    static let httpOnly = HTTPCookiePropertyKey("HttpOnly")
}

/// Whether a cookie wants to go with requests that other sites cause.
public struct HTTPCookieStringPolicy: RawRepresentable, Equatable, Hashable, Sendable {
    public private(set) var rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// With navigation alone.
    public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    /// Never.
    public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}
