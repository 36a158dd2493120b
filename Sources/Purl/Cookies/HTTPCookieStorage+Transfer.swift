import Foundation
internal import PurlHTTP

/// What a transfer asks of its session's storage.
extension HTTPCookieStorage {
    /// No cookie that a server sets lives longer: 400 days (RFC 6265bis §5.6.1, §5.6.2), in seconds.
    static let longestLife: TimeInterval = 400 * 24 * 60 * 60

    /// The value of the `Cookie` field for a request; `nil` when no cookie goes with it, and when the request has a
    /// `Cookie` field of the user's own.
    ///
    /// To be called whenever a head is composed, so that a redirect gets what belongs to its own URL, and a cookie
    /// that the redirecting response has set. The field is the head's only; it does not become part of the
    /// `URLRequest`. Not to be called when the session (`httpShouldSetCookies`) or the request
    /// (`httpShouldHandleCookies`) says no.
    ///
    /// A subclass is asked with `cookies(for:)`. On the network thread.
    func cookieHeader(for request: URLRequest) -> String? {
        let isPlain = type(of: self) == HTTPCookieStorage.self
        if isPlain, isEmpty { return nil }
        guard let url = request.url, request.value(forHTTPHeaderField: "Cookie") == nil,
            let target = CookieTarget(url), let cookies = isPlain ? cookies(at: target) : cookies(for: url)
        else { return nil }
        // A subclass may have let a secure one slip in.
        let pairs = cookies.filter { target.isSecure || !$0.content.isSecure }.map(\.content.pair)
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    /// Keeps what the `Set-Cookie` lines of a response say, as far as its server may say it.
    ///
    /// To be called once with the head of every response but interim ones and what a proxy answers itself (407): of a
    /// redirect before its target's head is composed, and before the delegate hears of the response. Not to be called
    /// when the request's `httpShouldHandleCookies` is false.
    ///
    /// A subclass is told with `setCookies(_:for:mainDocumentURL:)`. On the network thread; the change is announced on
    /// a queue of its own, since observers are the user's code.
    ///
    /// - Parameters:
    ///   - url: What the response answers: the URL of that hop.
    ///   - mainDocumentURL: The request's.
    ///   - policy: The configuration's `httpCookieAcceptPolicy`; the storage's own counts as well.
    func take(
        _ fields: HeaderFields, from url: URL, mainDocumentURL: URL?, policy: HTTPCookie.AcceptPolicy = .always
    ) {
        guard fields.contains(.setCookie),
            Self.mayAccept(from: url, mainDocumentURL: mainDocumentURL, policy: policy),
            Self.mayAccept(from: url, mainDocumentURL: mainDocumentURL, policy: cookieAcceptPolicy),
            let target = CookieTarget(url)
        else { return }
        let moment = now
        let cookies = fields.setCookies.compactMap {
            CookieContent($0, from: target, at: moment, longest: Self.longestLife).map { HTTPCookie($0) }
        }
        guard !cookies.isEmpty else { return }
        guard type(of: self) == HTTPCookieStorage.self else {
            return setCookies(cookies, for: url, mainDocumentURL: mainDocumentURL)
        }
        guard admit(cookies, from: target) else { return }
        Self.announcements.async {
            NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
        }
    }

    /// Calls the handler, on a queue of storages' own, when all changes so far are on disk. For `URLSession.flush`
    /// and `reset`, which removes all cookies before.
    func flush(_ completion: @escaping @Sendable () -> Void) {
        guard let file else { return Self.announcements.async(execute: completion) }
        file.flush { Self.announcements.async(execute: completion) }
    }

    /// Whether a policy lets servers set cookies in answer to a request for `url`.
    static func mayAccept(from url: URL?, mainDocumentURL: URL?, policy: HTTPCookie.AcceptPolicy) -> Bool {
        switch policy {
        case .always: return true
        case .never: return false
        case .onlyFromMainDocumentDomain:
            guard let mainDocumentURL else { return true }
            guard let host = CookieTarget(url)?.host, let document = CookieTarget(mainDocumentURL)?.host else {
                return false
            }
            return CookieDomain.covers(host, host: document) || CookieDomain.covers(document, host: host)
        }
    }
}
