/// The value of one `Set-Cookie` field, read by RFC 6265bis §5.6.
///
/// It is what the server sent, not what a client may keep: whether the server may set the cookie is decided where its
/// URL is known.
package struct SetCookie: Sendable, Hashable {
    /// How long the cookie is to be kept. `Max-Age` counts more than `Expires` (RFC 6265bis §5.7 step 6).
    package enum Lifetime: Sendable, Hashable {
        /// Until the client ends its session.
        case session
        /// For this many seconds; zero or less means that the cookie has expired.
        case seconds(Int64)
        case until(HTTPDate)
    }

    /// The `SameSite` attribute (RFC 6265bis §5.6.7).
    package enum SameSite: Sendable, Hashable {
        /// There is none, or an unknown one.
        case unstated
        case none
        case lax
        case strict
    }

    /// The most bytes that name and value may have together.
    package static let maximumSize = 4096
    /// The most bytes of an attribute's value; an attribute with more is ignored.
    package static let maximumAttributeSize = 1024

    /// Never empty.
    package private(set) var name: String
    package private(set) var value: String
    package private(set) var lifetime = Lifetime.session
    /// The `Domain` attribute in lower case without its leading dot; empty when there is none.
    package private(set) var domain = ""
    /// The `Path` attribute as it was written; nil when there is none.
    package private(set) var path: String?
    package private(set) var isSecure = false
    package private(set) var isHTTPOnly = false
    package private(set) var sameSite = SameSite.unstated
    /// What the cookie is for, in words for people (RFC 2965 §3.2.2); nil when there is no `Comment`.
    package private(set) var comment: String?
    /// Where to read more about that, as it was written; nil when there is no `CommentURL`.
    package private(set) var commentURL: String?

    /// Reads a field value; nil when it has to be ignored as a whole.
    package init?(_ text: String) {
        self.init(Array(text.utf8)[...])
    }

    init?(_ bytes: ArraySlice<UInt8>) {
        // RFC 6265bis §5.6 step 1: controls other than the tab.
        guard !bytes.contains(where: { ($0 < 0x20 && $0 != .tab) || $0 == 0x7F }) else { return nil }
        var parts = bytes.split(separator: .semicolon, omittingEmptySubsequences: false)[...]
        // A line without a name would be a cookie by RFC 6265bis; by RFC 6265 §5.2 and for Foundation it is none.
        guard let pair = parts.popFirst(), let (name, value) = Self.nameAndValue(pair), !name.isEmpty else {
            return nil
        }
        // §5.7 step 4.
        guard name.count + value.count <= Self.maximumSize else { return nil }
        self.name = String(fieldBytes: name)
        self.value = String(fieldBytes: value)
        for part in parts { take(attribute: part) }
        // §5.7 step 8
        guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    }

    /// Both sides of the first "=", trimmed; nil when there is none.
    private static func nameAndValue(_ text: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>)? {
        guard let equals = text.firstIndex(of: .equals) else { return nil }
        return (text[..<equals].trimmingBlanks(), text[(equals + 1)...].trimmingBlanks())
    }

    private mutating func take(attribute text: ArraySlice<UInt8>) {
        let pair = Self.nameAndValue(text)
        let (name, value) = pair ?? (text.trimmingBlanks(), [])
        guard value.count <= Self.maximumAttributeSize else { return }
        switch Attribute(name) {
        case .expires:
            // §5.6.1
            if case .seconds = lifetime { return }
            if let date = CookieDate.read(value) { lifetime = .until(date) }
        case .maxAge:
            if let seconds = Self.seconds(value) { lifetime = .seconds(seconds) }
        case .domain:
            // §5.6.3
            let name = value.first == .dot ? value.dropFirst() : value
            domain = String(fieldBytes: name).asciiLowercased
        case .path:
            path = String(fieldBytes: value)
        case .secure:
            isSecure = true
        case .httpOnly:
            isHTTPOnly = true
        case .sameSite:
            sameSite = Self.sameSite(value)
        case .comment:
            comment = pair.map { String(fieldBytes: $0.1) }
        case .commentURL:
            commentURL = pair.map { String(fieldBytes: $0.1) }
        case nil:
            break
        }
    }

    /// §5.6.2: an optional minus and digits. A number too large for 64 bits counts as the largest.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == .minus
        let digits = isNegative ? text.dropFirst() : text
        guard digits.allSatisfy({ $0.digitValue != nil }), !digits.isEmpty else { return nil }
        return isNegative ? 0 : Int64(digits: digits) ?? .max
    }

    private static func sameSite(_ text: ArraySlice<UInt8>) -> SameSite {
        switch String(fieldBytes: text).asciiLowercased {
        case "none": .none
        case "lax": .lax
        case "strict": .strict
        default: .unstated
        }
    }

    /// The known attributes.
    private enum Attribute: String {
        case expires
        case maxAge = "max-age"
        case domain, path, secure
        case httpOnly = "httponly"
        case sameSite = "samesite"
        case comment
        case commentURL = "commenturl"

        init?(_ name: ArraySlice<UInt8>) {
            self.init(rawValue: String(fieldBytes: name).asciiLowercased)
        }
    }
}

extension UInt8 {
    fileprivate static var minus: UInt8 { 0x2D }
    fileprivate static var dot: UInt8 { 0x2E }
}

extension HeaderFields {
    /// The cookies of the `Set-Cookie` lines, in their order; lines that have to be ignored are left out.
    package var setCookies: [SetCookie] {
        lines.compactMap { matches($0, .setCookie) ? SetCookie(bytes[$0.value]) : nil }
    }
}

extension SetCookie {
    /// The cookies of several `Set-Cookie` lines that are joined with line ends, or that an intermediary has joined
    /// with commas (RFC 9110 §5.3).
    ///
    /// Dates and values have commas of their own. A comma divides where a name and "=" follow it.
    package static func list(joined text: String) -> [SetCookie] {
        let bytes = Array(text.utf8)
        var cookies: [SetCookie] = []
        var start = 0
        for index in bytes.indices where divides(bytes, at: index) {
            if let cookie = SetCookie(bytes[start..<index]) { cookies.append(cookie) }
            start = index + 1
        }
        if let cookie = SetCookie(bytes[start...]) { cookies.append(cookie) }
        return cookies
    }

    private static func divides(_ bytes: [UInt8], at index: Int) -> Bool {
        isLineEnd(bytes[index]) || bytes[index] == .comma && beginsPair(bytes[(index + 1)...])
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == .lineFeed || byte == .carriageReturn }

    private static func beginsPair(_ rest: ArraySlice<UInt8>) -> Bool {
        let text = rest.drop { $0.isBlank || isLineEnd($0) }
        guard let end = text.firstIndex(where: { !$0.isTokenByte }), end > text.startIndex else { return false }
        return text[end...].first { !$0.isBlank } == .equals
    }
}

/// A prefix of a cookie's name that restricts the cookie (RFC 6265bis §4.1.3, §5.7 steps 20 to 22).
package enum CookiePrefix: Sendable, Hashable {
    /// `__Secure-`: set and sent only over secure connections.
    case secure
    /// `__Host-`: also set by and sent to one host alone, with all its paths.
    case host

    /// The prefix of a name, in any case; nil for a name without one.
    package init?(_ name: String) {
        if Self.begins(name, with: "__secure-") {
            self = .secure
        } else if Self.begins(name, with: "__host-") {
            self = .host
        } else {
            return nil
        }
    }

    /// Whether a cookie meets the restrictions of its prefix. A value without a name must not begin with a prefix.
    package static func isSatisfied(name: String, value: String, isSecure: Bool, isHostOnly: Bool, path: String) -> Bool
    {
        if name.isEmpty { return CookiePrefix(value) == nil }
        switch CookiePrefix(name) {
        case nil: return true
        case .secure: return isSecure
        case .host: return isSecure && isHostOnly && path == "/"
        }
    }

    private static func begins(_ name: String, with prefix: String) -> Bool {
        name.utf8.count >= prefix.utf8.count && zip(name.utf8, prefix.utf8).allSatisfy { $0.lowercased == $1 }
    }
}
