import Foundation
import PurlHTTP

@testable import Purl

extension FuzzTarget {
    /// What servers set: read, kept, and sent back. What goes into a `Cookie` field is read there as it is meant.
    static let cookies = FuzzTarget("cookies") { bytes in
        var choices = Choices(bytes)
        guard let url = URL(string: choices.one(of: Self.cookieURLs)), let target = CookieTarget(url) else { return }
        let now = Date(timeIntervalSince1970: 784_111_777)
        var jar = CookieJar()
        while !choices.isEmpty {
            let text = choices.line()
            for field in SetCookie.list(joined: text) + [SetCookie(text)].compactMap({ $0 }) {
                guard let content = CookieContent(field, from: target, at: now) else { continue }
                require(content.isSound, "a cookie that is kept is sound")
                let cookie = HTTPCookie(content)
                requireSame(
                    cookie.properties.flatMap(HTTPCookie.init(properties:))?.content, content, "properties keep all")
                if jar.admits(cookie, from: target) {
                    requireHosts(content, target)
                    jar.insert(cookie, set: now, at: now)
                }
            }
        }
        let sent = jar.cookies(for: target, at: now)
        if let line = HTTPCookie.requestHeaderFields(with: sent)["Cookie"] {
            requireSame(line.utf8.split(separator: UInt8(ascii: ";")).count, sent.count, "cookies do not run together")
            requireSame(FieldText.plain(line), line, "nor do they break the field")
        }
        for cookie in sent {
            require(CookiePath.covers(cookie.path, request: target.path), "a cookie's path covers the request's")
            require(cookie.expiresDate.map { $0 > now } ?? true, "a cookie that is over is not sent")
        }
        // Kept and read back they are the same.
        let again = CookieJar(jar.records, at: now, tracksChanges: false)
        requireSame(again.records, jar.records, "records bring the same jar back")
    }

    private static let cookieURLs = [
        "http://example.com/a/b", "http://www.example.com/", "http://127.0.0.1:8080/x", "http://[::1]/",
        "http://localhost/",
        "http://a.b.example.co.uk/a/b/c?d", "http+unix://%2Frun%2Fa.sock/v1/x",
    ]

    private static func requireHosts(_ content: CookieContent, _ target: CookieTarget) {
        let domain = content.domain.hasPrefix(".") ? String(content.domain.dropFirst()) : content.domain
        require(CookieDomain.covers(domain, host: target.host), "a server sets cookies for itself and above")
        if content.domain.hasPrefix(".") {
            require(CookieDomain.coversSubdomains(domain), "and never for a whole top level")
        }
    }
}
