import Foundation

/// `URLCache` and `CachedURLResponse` without a session.
enum StorageScenarios {
    private static let url = URL(string: "http://example.com/file") ?? URL(fileURLWithPath: "/")

    static let all = [
        Scenario("storage.capacities") { stage in
            let cache = URLCache(memoryCapacity: 1000, diskCapacity: 0, diskPath: nil)
            stage.note("memory", "\(cache.memoryCapacity), \(cache.currentMemoryUsage) used")
            stage.note("disk", "\(cache.diskCapacity), \(cache.currentDiskUsage) used")
            cache.memoryCapacity = 2000
            stage.note("memory", cache.memoryCapacity)
        },
        Scenario("storage.shared") { stage in
            stage.note("memory", URLCache.shared.memoryCapacity)
            stage.note("disk", URLCache.shared.diskCapacity)
            stage.note("default", URLSessionConfiguration.default.urlCache === URLCache.shared)
            stage.note("ephemeral", URLSessionConfiguration.ephemeral.urlCache === URLCache.shared)
            stage.note("ephemeral, disk", URLSessionConfiguration.ephemeral.urlCache?.diskCapacity)
        },
        Scenario("storage.store-and-find") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one"), for: URLRequest(url: url))
            stage.note("found", text(cache.cachedResponse(for: URLRequest(url: url))))
            cache.storeCachedResponse(response("two"), for: URLRequest(url: url))
            stage.note("replaced", text(cache.cachedResponse(for: URLRequest(url: url))))
            stage.note("memory is used", cache.currentMemoryUsage > 0)
            cache.removeCachedResponse(for: URLRequest(url: url))
            stage.note("removed", text(cache.cachedResponse(for: URLRequest(url: url))))
            stage.note("memory", cache.currentMemoryUsage)
        },
        Scenario("storage.keys") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one"), for: URLRequest(url: url))
            for other in ["http://example.com/file?a=b", "http://example.com/file#part", "http://EXAMPLE.com/file"] {
                let found = URL(string: other).flatMap { cache.cachedResponse(for: URLRequest(url: $0)) }
                stage.note(other, text(found))
            }
            stage.note("POST", text(cache.cachedResponse(for: stage.request(url, "POST"))))
        },
        Scenario("storage.post") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one"), for: stage.request(url, "POST"))
            stage.note("POST", text(cache.cachedResponse(for: stage.request(url, "POST"))))
            stage.note("GET", text(cache.cachedResponse(for: URLRequest(url: url))))
        },
        Scenario("storage.remove-all") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one"), for: URLRequest(url: url))
            cache.removeAllCachedResponses()
            stage.note("found", text(cache.cachedResponse(for: URLRequest(url: url))))
        },
        Scenario("storage.remove-since") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one"), for: URLRequest(url: url))
            cache.removeCachedResponses(since: Date(timeIntervalSinceNow: 3600))
            stage.note("since in an hour", text(cache.cachedResponse(for: URLRequest(url: url))))
            cache.removeCachedResponses(since: Date(timeIntervalSinceNow: -3600))
            stage.note("since an hour ago", text(cache.cachedResponse(for: URLRequest(url: url))))
        },
        Scenario("storage.not-allowed") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one", .notAllowed), for: URLRequest(url: url))
            stage.note("found", text(cache.cachedResponse(for: URLRequest(url: url))))
        },
        Scenario("storage.too-large") { stage in
            let cache = memory()
            let text = String(repeating: "x", count: 100_000)
            cache.storeCachedResponse(response(text), for: URLRequest(url: url))
            stage.note("found", cache.cachedResponse(for: URLRequest(url: url)) != nil)
        },
        Scenario("storage.smaller") { stage in
            let cache = memory()
            cache.storeCachedResponse(response("one"), for: URLRequest(url: url))
            cache.memoryCapacity = 0
            stage.note("found", text(cache.cachedResponse(for: URLRequest(url: url))))
        },
        Scenario("storage.task") { stage in
            let cache = memory()
            let task = stage.session().dataTask(with: url)
            cache.storeCachedResponse(response("one"), for: task)
            await withCheckedContinuation { continuation in
                cache.getCachedResponse(for: task) { found in
                    stage.note("found", text(found))
                    continuation.resume()
                }
            }
            cache.removeCachedResponse(for: task)
            stage.note("removed", text(cache.cachedResponse(for: URLRequest(url: url))))
        },
        Scenario("storage.response") { stage in
            let plain = response("one")
            stage.note("policy", plain.storagePolicy.rawValue)
            stage.note("info", plain.userInfo)
            stage.note("data", text(plain))
            let noted = CachedURLResponse(
                response: plain.response, data: plain.data, userInfo: ["key": "value"],
                storagePolicy: .allowedInMemoryOnly)
            stage.note("policy", noted.storagePolicy.rawValue)
            stage.note("info", noted.userInfo)
            stage.note("copy", (noted.copy() as? CachedURLResponse) == noted)
        },
        Scenario("storage.response-equality") { stage in
            stage.note("same", response("one") == response("one"))
            stage.note("hash", response("one").hash == response("one").hash)
            stage.note("data", response("one") == response("two"))
            stage.note("policy", response("one") == response("one", .notAllowed))
        },
    ]

    private static func memory() -> URLCache {
        URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
    }

    private static func response(_ text: String, _ policy: URLCache.StoragePolicy = .allowed) -> CachedURLResponse {
        let head = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: text.utf8.count, textEncodingName: nil)
        return CachedURLResponse(response: head, data: Data(text.utf8), userInfo: nil, storagePolicy: policy)
    }

    private static func text(_ response: CachedURLResponse?) -> String? {
        response.map { String(decoding: $0.data, as: UTF8.self) }
    }
}
