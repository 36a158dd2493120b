import Foundation
import Purl

extension Act {
    static let storages: [Act] = caches + cookies + credentials

    /// The caches of sessions, two of three times the one that they share.
    private static func cache(
        _ name: String, weight: Int = 2, _ perform: @escaping @Sendable (URLCache, URLRequest, inout Dice) -> Void
    ) -> Act {
        Act("cache.\(name)", weight: weight) { arena, dice in
            guard let cache = dice.once(in: 3) ? arena.session(&dice).configuration.urlCache : .shared else { return }
            perform(cache, URLRequest(url: arena.server.server.url("/cacheable")), &dice)
        }
    }

    private static let caches: [Act] = [
        cache("cachedResponse(for:)") { cache, request, _ in _ = cache.cachedResponse(for: request)?.data.count },
        cache("storeCachedResponse") { cache, request, dice in
            guard let url = request.url else { return }
            let response = URLResponse(
                url: url, mimeType: "text/plain", expectedContentLength: 3, textEncodingName: nil)
            let content = Data(repeating: 1, count: dice.below(5000))
            cache.storeCachedResponse(CachedURLResponse(response: response, data: content), for: request)
        },
        cache("removeCachedResponse(for:)") { cache, request, _ in cache.removeCachedResponse(for: request) },
        cache("removeCachedResponses(since:)", weight: 1) { cache, _, _ in
            cache.removeCachedResponses(since: Date().addingTimeInterval(-1))
        },
        cache("removeAllCachedResponses", weight: 1) { cache, _, _ in cache.removeAllCachedResponses() },
        cache("usage") { cache, _, _ in _ = cache.currentMemoryUsage + cache.currentDiskUsage },
        cache("capacity", weight: 1) { cache, _, dice in
            cache.memoryCapacity = 1000 << dice.below(12)
            cache.diskCapacity = 1000 << dice.below(15)
            _ = cache.memoryCapacity + cache.diskCapacity
        },
        Act("cache.of task", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) as? URLSessionDataTask else { return }
            URLCache.shared.getCachedResponse(for: task) { response in
                if let response { URLCache.shared.storeCachedResponse(response, for: task) }
            }
            if dice.once(in: 4) { URLCache.shared.removeCachedResponse(for: task) }
        },
    ]

    private static func cookies(
        _ name: String, weight: Int = 2, _ perform: @escaping @Sendable (HTTPCookieStorage, URL, inout Dice) -> Void
    ) -> Act {
        Act("cookies.\(name)", weight: weight) { arena, dice in
            let own = dice.once(in: 3) ? arena.session(&dice).configuration.httpCookieStorage : .shared
            guard let storage = own else { return }
            perform(storage, arena.server.server.url("/cookies"), &dice)
        }
    }

    private static func cookie(for url: URL, _ dice: inout Dice) -> HTTPCookie? {
        HTTPCookie(properties: [
            .name: "name\(dice.below(8))", .value: "\(dice.below(100))", .originURL: url, .path: "/",
            .maximumAge: "\(dice.below(100))",
        ])
    }

    private static let cookies: [Act] = [
        cookies("cookies") { storage, _, _ in _ = storage.cookies?.count },
        cookies("cookies(for:)") { storage, url, _ in
            _ = HTTPCookie.requestHeaderFields(with: storage.cookies(for: url) ?? []).count
        },
        cookies("setCookie") { storage, url, dice in cookie(for: url, &dice).map(storage.setCookie) },
        cookies("setCookies(_:for:)") { storage, url, dice in
            storage.setCookies([cookie(for: url, &dice)].compactMap(\.self), for: url, mainDocumentURL: url)
        },
        cookies("deleteCookie") { storage, url, dice in cookie(for: url, &dice).map(storage.deleteCookie) },
        cookies("removeCookies(since:)", weight: 1) { storage, _, _ in
            storage.removeCookies(since: Date().addingTimeInterval(-1))
        },
        cookies("sortedCookies") { storage, _, _ in _ = storage.sortedCookies(using: []).count },
        cookies("cookieAcceptPolicy", weight: 1) { storage, _, dice in
            storage.cookieAcceptPolicy = dice.once(in: 8) ? .never : .always
        },
        Act("cookies.of task", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) else { return }
            HTTPCookieStorage.shared.getCookiesFor(task) { _ in }
            HTTPCookieStorage.shared.storeCookies([], for: task)
        },
    ]

    private static func credentials(
        _ name: String, _ perform: @escaping @Sendable (URLCredentialStorage, URLProtectionSpace, inout Dice) -> Void
    ) -> Act {
        Act("credentials.\(name)", weight: 2) { arena, dice in
            let own = dice.once(in: 3) ? arena.session(&dice).configuration.urlCredentialStorage : .shared
            guard let storage = own else { return }
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: Int(arena.server.server.port), protocol: "http", realm: "club",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            perform(storage, space, &dice)
        }
    }

    private static func credential(_ dice: inout Dice) -> URLCredential {
        URLCredential(
            user: MisbehavingServer.user, password: dice.once(in: 3) ? "wrong" : MisbehavingServer.password,
            persistence: .forSession)
    }

    private static let credentials: [Act] = [
        credentials("set") { storage, space, dice in storage.set(credential(&dice), for: space) },
        credentials("setDefaultCredential") { storage, space, dice in
            storage.setDefaultCredential(credential(&dice), for: space)
        },
        credentials("remove") { storage, space, dice in storage.remove(credential(&dice), for: space) },
        credentials("defaultCredential") { storage, space, _ in _ = storage.defaultCredential(for: space)?.user },
        credentials("credentials(for:)") { storage, space, _ in _ = storage.credentials(for: space)?.count },
        credentials("allCredentials") { storage, _, _ in _ = storage.allCredentials.count },
    ]
}
