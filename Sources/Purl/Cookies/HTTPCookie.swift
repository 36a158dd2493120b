import Foundation
internal import PurlHTTP

/// A cookie: a name and a value that a server sets, and which requests carry them, for how long.
///
/// Immutable. Two cookies are equal when all of their attributes are. A ``domain`` with a leading dot covers the hosts
/// below it as well, one without covers that host alone. `@unchecked Sendable` because the class is open; it has no
/// state that changes.
open class HTTPCookie: NSObject, @unchecked Sendable {
    let content: CookieContent
    let key: CookieKey

    /// Makes a cookie from a dictionary of attributes; see ``HTTPCookiePropertyKey`` for what each may be.
    ///
    /// Name, value, path, and a domain or an origin URL are required. `nil` also for names and values that cannot be part
    /// of a header field, and when none of the ports can be read. A date, an age or a version that cannot be read is left
    /// out. An empty name makes a cookie that is sent as its value alone.
    ///
    /// - Parameter properties: The attributes.
    public init?(properties: [HTTPCookiePropertyKey: Any]) {
        guard let content = CookieContent(properties: properties, at: .current) else { return nil }
        self.content = content
        key = CookieKey(content)
    }

    init(_ content: CookieContent) {
        self.content = content
        key = CookieKey(content)
    }

    /// The `Cookie` header field that sends these cookies; empty when there are none.
    ///
    /// - Parameter cookies: The cookies, in the order in which they are sent.
    open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] {
        cookies.isEmpty ? [:] : ["Cookie": cookies.map(\.content.pair).joined(separator: "; ")]
    }

    /// The cookies that the `Set-Cookie` field among the fields sets, in their order. Lines without a name or without
    /// "=" set none.
    ///
    /// A dictionary holds one value of a name: several lines, joined with commas or line ends, are divided again.
    /// Whether the URL's server may set a cookie for its domain, or a secure one, is decided when it is stored with
    /// ``HTTPCookieStorage/setCookies(_:for:mainDocumentURL:)``.
    ///
    /// - Parameter URL: The URL of the request. A cookie that names no domain or path has those of the URL.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    open class func cookies(
        withResponseHeaderFields headerFields: [String: String], for URL: URL
    ) -> [HTTPCookie] {
        guard let target = CookieURL(URL) else { return [] }
        let now = Date.current
        return
            headerFields
            .filter { FieldName($0.key) == .setCookie }
            .sorted { $0.key < $1.key }
            .flatMap { SetCookie.list(joined: $0.value) }
            .compactMap { CookieContent($0, from: target, at: now).map { HTTPCookie($0) } }
    }

    /// The attributes as a dictionary, from which ``init(properties:)`` makes an equal cookie.
    open var properties: [HTTPCookiePropertyKey: Any]? { content.properties }

    /// 0 or 1. What servers set is 0: later standards have done away with versions.
    open var version: Int { content.version }

    /// The name; empty for a cookie that is a value alone.
    open var name: String { content.name }

    /// The value.
    open var value: String { content.value }

    /// When the cookie expires; `nil` when that is the end of the session.
    open var expiresDate: Date? { content.expires }

    /// Whether the cookie ends with the session; storages do not write it to disk.
    open var isSessionOnly: Bool { content.expires == nil }

    /// The host the cookie goes to, in lower case. With a leading dot, hosts below it get the cookie as well; that
    /// means nothing for an IP address or a name without another dot, which cover themselves alone.
    open var domain: String { content.domain }

    /// The path below which the cookie is sent.
    open var path: String { content.path }

    /// Whether the cookie is sent over secure connections alone.
    open var isSecure: Bool { content.isSecure }

    /// Whether the server wants the cookie kept from scripts. Purl runs none.
    open var isHTTPOnly: Bool { content.isHTTPOnly }

    /// The `SameSite` attribute; `nil` for none. Kept: a session does not know which site causes a request.
    open var sameSitePolicy: HTTPCookieStringPolicy? { content.sameSite.map { HTTPCookieStringPolicy(rawValue: $0) } }

    /// What the cookie is for, in words for people: the `Comment` attribute.
    open var comment: String? { content.comment }

    /// Where to read more about that: the `CommentURL` attribute.
    open var commentURL: URL? { content.commentURL.flatMap { URL(string: $0) } }

    /// The ports the cookie goes to; `nil` means all.
    open var portList: [NSNumber]? { content.ports?.map { NSNumber(value: $0) } }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? HTTPCookie)?.content == content
    }

    open override var hash: Int { content.hashValue }

    /// The attributes in Foundation's form, which leaves out `HttpOnly` and `SameSite`.
    open override var description: String {
        let expiry = expiresDate.map { "\($0)" } ?? "nil"
        let ports = content.ports?.map(String.init).joined(separator: ",") ?? "0"
        return "<HTTPCookie version:\(version) name:\"\(name)\" value:\"\(value)\" expiresDate:\(expiry) "
            + "sessionOnly:\(isSessionOnly) domain:\"\(domain)\" path:\"\(path)\" isSecure:\(isSecure) "
            + "comment:\(comment ?? "nil") ports:{ \(ports) }>"
    }
}

extension HTTPCookie {
    /// Which cookies a storage accepts from servers.
    public enum AcceptPolicy: UInt, Sendable {
        /// All that the server may set.
        case always
        /// None.
        case never
        /// Those of the main document's own domain. A request that names no main document is one itself.
        ///
        /// The same domain means: one of the two hosts is the other or lies below it.
        case onlyFromMainDocumentDomain
    }
}

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
    /// The cookie's name. Required.
    public static let name = HTTPCookiePropertyKey("Name")
    /// The cookie's value. Required.
    public static let value = HTTPCookiePropertyKey("Value")
    /// The URL that set the cookie, as `URL` or text. It stands in for a missing ``domain``.
    public static let originURL = HTTPCookiePropertyKey("OriginURL")
    /// "0" (the default) or "1".
    public static let version = HTTPCookiePropertyKey("Version")
    /// The host the cookie goes to; with a leading dot, the hosts below it as well.
    public static let domain = HTTPCookiePropertyKey("Domain")
    /// The path below which the cookie is sent. Required.
    public static let path = HTTPCookiePropertyKey("Path")
    /// "TRUE" for a cookie that is sent over secure connections alone.
    public static let secure = HTTPCookiePropertyKey("Secure")
    /// When the cookie expires, as `Date` or text. Of version 1 cookies `maximumAge` decides where there is one.
    public static let expires = HTTPCookiePropertyKey("Expires")
    /// What the cookie is for, in words for people.
    public static let comment = HTTPCookiePropertyKey("Comment")
    /// Where to read more about that, as `URL` or text.
    public static let commentURL = HTTPCookiePropertyKey("CommentURL")
    /// "TRUE" for a cookie that ends with its session.
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

/// Whether a cookie is to be sent with requests that other sites cause.
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
