import Foundation
import PurlHTTP

@testable import Purl

extension FuzzTarget {
    /// The rules of RFC 9111 for a stored response and a request: they answer whatever the clocks show, and never with
    /// what may not be used.
    static let cacheRules = FuzzTarget("cache-rules") { bytes in
        var choices = Choices(bytes)
        let (requestTime, responseTime, now) = (choices.integer(), choices.integer(), choices.integer())
        let status = choices.one(of: [200, 203, 204, 206, 300, 301, 304, 308, 404, 405, 410, 414, 500, 501, 503, 599])
        var (requested, stored, asked, confirmed) = (HeaderFields(), HeaderFields(), HeaderFields(), HeaderFields())
        let names: [FieldName] = [
            .cacheControl, .vary, .age, .expires, .date, .lastModified, .etag, .pragma, FieldName("X"), .connection,
            .location, .contentLocation,
        ]
        while !choices.isEmpty, stored.count < 50 {
            let (place, name) = (choices.number(below: 4), choices.one(of: names))
            let value = FieldText.value(choices.lineBytes())
            switch place {
            case 0: requested.append(name, value)
            case 1: stored.append(name, value)
            case 2: asked.append(name, value)
            default: confirmed.append(name, value)
            }
        }
        let may = CacheStorage.mayStore(method: "GET", requestFields: requested, status: status, fields: stored)
        if may, CacheControl(stored).noStore { require(CacheControl(stored).mustUnderstand, "no-store is kept to") }
        _ = CacheStorage.invalidatedReferences(by: stored)
        let kept = CacheStorage.storedFields(of: stored)
        require(!kept.contains(.connection), "what speaks of the connection is not stored")
        requireSame(CacheStorage.storedFields(of: kept), kept, "what is stored can be stored again")

        let response = CachedResponse(
            requestFields: requested, status: status, fields: kept, requestTime: requestTime, responseTime: responseTime
        )
        require(response.freshnessLifetime >= 0, "a life is not negative")
        require(response.currentAge(at: now) >= 0, "an age is not negative")

        let control = CacheControl(kept)
        switch response.reuse(for: asked, at: now) {
        case .use(let age):
            require(!control.noCache && !CacheControl(request: asked).noCache, "no-cache is kept to")
            require(age >= 0, "an age is not negative")
            if !response.isFresh(at: now) { require(!control.mustRevalidate, "must-revalidate is kept to") }
        case .validate(let conditions):
            require(!conditions.isEmpty, "a question has a condition")
        case .forward, .unsatisfiable:
            break
        }
        if response.mayReplaceError(for: asked, at: now) { require(!control.noCache, "no-cache is kept to") }
        if response.isConfirmed(by: confirmed) {
            let updated = response.updated(by: confirmed, requestTime: requestTime, responseTime: responseTime)
            requireSame(updated.status, status, "the status stays")
        }
    }
}

extension FuzzTarget {
    /// What servers set: read, kept, and sent back. What goes into a `Cookie` field is read there as it is meant.
    static let cookies = FuzzTarget("cookies") { bytes in
        var choices = Choices(bytes)
        guard let url = URL(string: choices.one(of: Self.cookieURLs)), let target = CookieURL(url) else { return }
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
                if jar.admits(cookie, from: target, at: now) {
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
        let again = CookieJar(jar.storedCookies, at: now, tracksChanges: false)
        requireSame(again.storedCookies, jar.storedCookies, "stored cookies bring the same jar back")
    }

    private static let cookieURLs = [
        "http://example.com/a/b", "http://www.example.com/", "http://127.0.0.1:8080/x", "http://[::1]/",
        "http://localhost/",
        "http://a.b.example.co.uk/a/b/c?d", "http+unix://%2Frun%2Fa.sock/v1/x",
    ]

    private static func requireHosts(_ content: CookieContent, _ target: CookieURL) {
        let key = CookieKey(content)
        require(CookieDomain.covers(key.domain, host: target.host), "a server sets cookies for itself and above")
        if !key.isHostOnly {
            require(CookieDomain.coversSubdomains(key.domain), "and never for a whole top level")
        }
    }
}
