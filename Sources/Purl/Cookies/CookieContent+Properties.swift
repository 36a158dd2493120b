import Foundation
internal import PurlHTTP

/// A cookie as the dictionary that users make one from and get.
extension CookieContent {
    /// `nil` when something needed is missing, or something known has a value that means nothing.
    init?(properties: [HTTPCookiePropertyKey: Any], at now: Date) {
        guard let name = Self.text(properties[.name]), let value = Self.text(properties[.value]),
            let path = Self.text(properties[.path]),
            let domain = Self.text(properties[.domain]) ?? Self.url(properties[.originURL])?.host(percentEncoded: false)
        else { return nil }
        self.name = name
        self.value = value
        self.path = path
        self.domain = CookieDomain.canonical(domain)
        switch Self.text(properties[.version]) {
        case nil, "0": version = 0
        case "1": version = 1
        default: return nil
        }
        isSecure = Self.isTrue(properties[.secure])
        isHTTPOnly = Self.isTrue(properties[.httpOnly])
        comment = Self.text(properties[.comment])
        commentURL = Self.url(properties[.commentURL])?.absoluteString
        let policy = properties[.sameSitePolicy]
        sameSite = (Self.text(policy) ?? (policy as? HTTPCookieStringPolicy)?.rawValue)?.lowercased()
        guard takePorts(properties[.port]), takeLifetime(properties, at: now), isSound else { return nil }
    }

    private mutating func takePorts(_ property: Any?) -> Bool {
        guard let text = Self.text(property), !text.isEmpty else { return true }
        let list = text.split(separator: ",").map { UInt16($0.trimmingCharacters(in: .whitespaces)) }
        let numbers = list.compactMap { $0.map(Int.init) }
        guard numbers.count == list.count, !numbers.isEmpty else { return false }
        ports = version == 0 ? [numbers[0]] : numbers
        return true
    }

    /// An age is of version 1 alone. Without one, a version 1 cookie is over with its session unless the dictionary
    /// says that it is not, as ``properties`` does.
    private mutating func takeLifetime(_ properties: [HTTPCookiePropertyKey: Any], at now: Date) -> Bool {
        let discard = properties[.discard].map(Self.isTrue)
        if version == 1, let age = Self.text(properties[.maximumAge]) {
            guard let seconds = Int64(age) else { return false }
            expires = seconds > 0 ? Self.date(TimeInterval(seconds), after: now) : .distantPast
        } else if version == 0 || discard == false {
            switch properties[.expires] {
            case nil: break
            case let date as Date: expires = max(.distantPast, min(Self.lastDate, date))
            case let other:
                guard let date = Self.text(other).flatMap(CookieDate.read) else { return false }
                expires = Date(timeIntervalSince1970: TimeInterval(date.secondsSinceEpoch))
            }
        }
        if discard == true { expires = nil }
        return true
    }

    /// What makes an equal cookie again.
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
