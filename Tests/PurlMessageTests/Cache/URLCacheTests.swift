import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("URLCache")
struct URLCacheTests {
    private let home = CacheHome()

    @Test("A stored response is returned unchanged, from memory and from disk", arguments: [1 << 20, 0])
    func comesBack(memory: Int) throws {
        let cache = home.cache(memory: memory)
        let stored = serverResponse(
            "a", fields: ["Content-Type": "text/plain; charset=utf-8", "X": "é"], userInfo: ["key": 7])
        cache.storeCachedResponse(stored, for: URLRequest(url: cacheURL("a")))
        #expect(cache.cachedResponse(for: URLRequest(url: cacheURL("a"))) == stored)
        cache.store.flush()
        let found = cache.cachedResponse(for: URLRequest(url: cacheURL("a")))
        #expect(found == stored)
        #expect(found?.response.mimeType == "text/plain")
        #expect(found?.userInfo?["key"] as? Int == 7)
        #expect((cache.currentMemoryUsage > 0) == (memory > 0))
        #expect(cache.currentDiskUsage > 100)
    }

    @Test("What the program stores and removes is on disk, or gone from there, when the call returns")
    func filesAtOnce() throws {
        let cache = home.cache()
        for count in 1...3 {
            cache.put("\(count)")
            #expect(home.fileNames.count == count)
        }
        #expect(home.cache(memory: 0).names("1", "2", "3") == ["1", "2", "3"])
        cache.put("3", size: 300)
        #expect(home.fileNames.count == 3)
        cache.removeCachedResponse(for: URLRequest(url: cacheURL("1")))
        #expect(home.fileNames.count == 2)
        cache.diskCapacity = cache.currentDiskUsage - 1
        #expect(home.fileNames.count == 1)
        cache.removeAllCachedResponses()
        #expect(home.fileNames == [])
    }

    @Test("A cache that is made without capacities keeps responses in memory")
    func withoutCapacities() {
        let cache = URLCache()
        #expect(cache.diskCapacity == 0)
        cache.put("a")
        #expect(cache.has("a"))
    }

    @Test("A later process finds the responses on disk in their order of use")
    func relaunch() throws {
        let cache = home.cache()
        cache.put("a", "b", "c")
        cache.store.flush()
        let size = home.cache().currentDiskUsage
        let next = home.cache(memory: 0)
        #expect(next.currentMemoryUsage == 0)
        #expect(next.names("a", "b", "c", "d") == ["a", "b", "c"])
        home.clock.advance(by: 10)
        #expect(next.has("a"))
        let last = home.cache(disk: size - 1)
        #expect(last.has("a"))
        #expect(last.names("b", "c").count == 1)
        last.store.flush()
        #expect(home.fileNames.count == 2)
    }

    @Test("A response that is not HTTP is stored, too")
    func plainResponse() throws {
        let response = URLResponse(
            url: cacheURL("a"), mimeType: "text/html", expectedContentLength: 3, textEncodingName: "latin1")
        let stored = CachedURLResponse(response: response, data: Data("abc".utf8))
        let cache = home.cache()
        cache.storeCachedResponse(stored, for: URLRequest(url: cacheURL("a")))
        cache.store.flush()
        #expect(home.cache().cachedResponse(for: URLRequest(url: cacheURL("a"))) == stored)
    }

    @Test("The storage policy decides: memory and disk, memory only, or nowhere")
    func storagePolicy() throws {
        let cache = home.cache()
        cache.put("a", policy: .allowedInMemoryOnly)
        cache.put("b", policy: .notAllowed)
        cache.put("c", policy: .allowed)
        #expect(cache.names("a", "b", "c") == ["a", "c"])
        cache.store.flush()
        #expect(home.cache().names("a", "b", "c") == ["c"])
        #expect(home.cache(disk: 0).names("a", "b", "c") == [])
    }

    @Test("Responses are found by their URL without its fragment, and for GET only")
    func keys() throws {
        let cache = home.cache()
        cache.put("a?x=1#top")
        #expect(cache.names("a?x=1", "a?x=1#end", "a", "a?x=2") == ["a?x=1", "a?x=1#end"])
        var post = URLRequest(url: cacheURL("a?x=1"))
        post.httpMethod = "POST"
        #expect(cache.cachedResponse(for: post) == nil)
        cache.storeCachedResponse(serverResponse("b"), for: post)
        #expect(cache.cachedResponse(for: URLRequest(url: cacheURL("a?x=1")))?.response.url == cacheURL("a?x=1#top"))
    }

    @Test(
        "URLs that are equivalent in HTTP have the same response",
        arguments: [
            ("http://EXAMPLE.com/file", true), ("HTTP://example.com/file", true), ("http://example.com:80/file", true),
            ("http://example.com/FILE", false), ("http://example.com:8080/file", false),
            ("http://me@example.com/file", false), ("http://example.com/file/", false),
            ("http+unix://example.com/file", false),
        ])
    func sameURL(text: String, isSame: Bool) throws {
        let cache = home.cache()
        let url = try #require(URL(string: "http://example.com/file"))
        cache.storeCachedResponse(serverResponse("file"), for: URLRequest(url: url))
        let other = try #require(URL(string: text))
        #expect((cache.cachedResponse(for: URLRequest(url: other)) != nil) == isSame)
    }

    @Test(
        "https URLs that are equivalent have the same response, which no http URL has",
        arguments: [
            ("https://EXAMPLE.com:443/file", true), ("HTTPS://example.com/file#top", true),
            ("https://example.com:80/file", false), ("http://example.com/file", false),
            ("http://example.com:443/file", false),
        ])
    func sameSecureURL(text: String, isSame: Bool) throws {
        let cache = home.cache()
        let url = try #require(URL(string: "https://example.com/file"))
        cache.storeCachedResponse(serverResponse("file"), for: URLRequest(url: url))
        let other = try #require(URL(string: text))
        #expect((cache.cachedResponse(for: URLRequest(url: other)) != nil) == isSame)
    }

    @Test(
        "An empty path is the path /",
        arguments: ["http://example.com", "http://example.com/", "http://EXAMPLE.com:80#top"])
    func emptyPath(text: String) throws {
        let cache = home.cache()
        let url = try #require(URL(string: "http://example.com"))
        cache.storeCachedResponse(serverResponse("file"), for: URLRequest(url: url))
        let other = try #require(URL(string: text))
        #expect(cache.cachedResponse(for: URLRequest(url: other)) != nil)
    }

    @Test("Variants are stored side by side; a request without the Vary field finds the newest")
    func variants() throws {
        let cache = home.cache()
        var requests: [URLRequest] = []
        for (index, language) in ["de", "fr"].enumerated() {
            var request = URLRequest(url: cacheURL("a"))
            request.setValue(language, forHTTPHeaderField: "Accept-Language")
            requests.append(request)
            cache.storeCachedResponse(
                serverResponse("a", size: index + 1, fields: ["Vary": "accept-language"]), for: request)
            home.clock.advance(by: 1)
        }
        cache.store.flush()
        for cache in [cache, home.cache(), home.cache(memory: 0)] {
            #expect(requests.map { cache.cachedResponse(for: $0)?.data.count } == [1, 2])
            #expect(cache.cachedResponse(for: URLRequest(url: cacheURL("a")))?.data.count == 2)
            requests[0].setValue("it", forHTTPHeaderField: "Accept-Language")
            #expect(cache.cachedResponse(for: requests[0]) == nil)
            requests[0].setValue("de", forHTTPHeaderField: "Accept-Language")
        }
        cache.removeCachedResponse(for: URLRequest(url: cacheURL("a")))
        #expect(requests.allSatisfy { cache.cachedResponse(for: $0) == nil })
    }

    @Test("One response, all, or those stored since a date can be removed")
    func removing() throws {
        let cache = home.cache()
        cache.put("a", "b")
        home.clock.advance(by: 10)
        let moment = home.clock.date
        cache.put("c", "d")
        cache.removeCachedResponse(for: URLRequest(url: cacheURL("a")))
        #expect(cache.names("a", "b", "c", "d") == ["b", "c", "d"])
        cache.store.flush()
        let next = home.cache()
        next.removeCachedResponses(since: moment)
        #expect(next.names("a", "b", "c", "d") == ["b"])
        next.removeAllCachedResponses()
        #expect(next.names("a", "b", "c", "d") == [])
        #expect((next.currentMemoryUsage, next.currentDiskUsage) == (0, 0))
        next.store.flush()
        #expect(home.fileNames == [])
    }

    @Test("A later response replaces an earlier one")
    func replacing() throws {
        let cache = home.cache()
        for size in [10, 20, 30] {
            cache.put("a", size: size)
            cache.store.flush()
        }
        #expect(home.fileNames.count == 1)
        #expect(home.cache().cachedResponse(for: URLRequest(url: cacheURL("a")))?.data.count == 30)
        let usage = cache.currentMemoryUsage
        cache.put("a", size: 30)
        #expect(cache.currentMemoryUsage == usage)
    }

    @Test("A configuration has the shared cache, one in memory of its own, or none")
    func configurations() throws {
        #expect(URLSessionConfiguration.default.urlCache === URLCache.shared)
        let ephemeral = URLSessionConfiguration.ephemeral.urlCache
        #expect(ephemeral !== URLCache.shared)
        #expect(ephemeral?.diskCapacity == 0)
        #expect(URLSessionConfiguration.background(withIdentifier: "x").urlCache == nil)
    }

    @Test("A relative disk path is below the program's folder")
    func diskPath() throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, diskPath: home.folder.path)
        cache.put("a")
        cache.store.flush()
        #expect(home.fileNames.count == 1)
        #expect(URLCache(memoryCapacity: 0, diskCapacity: 1 << 20, directory: home.folder).has("a"))
    }
}

@Suite("CachedURLResponse")
struct CachedURLResponseTests {
    @Test("An unarchived response equals the archived one, and any difference makes it unequal")
    func archive() throws {
        let stored = serverResponse("a", userInfo: ["a": ["b", 1]], policy: .allowedInMemoryOnly)
        let blob = try NSKeyedArchiver.archivedData(withRootObject: stored, requiringSecureCoding: true)
        let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: CachedURLResponse.self, from: blob)
        #expect(copy == stored)
        #expect(copy?.hash == stored.hash)
        #expect(copy?.storagePolicy == .allowedInMemoryOnly)
        #expect(stored.copy() as? CachedURLResponse === stored)
        #expect(stored != serverResponse("a", policy: .allowedInMemoryOnly))
        #expect(stored != serverResponse("a", size: 99, userInfo: ["a": ["b", 1]], policy: .allowedInMemoryOnly))
        #expect(stored != serverResponse("a", userInfo: ["a": ["b", 1]], policy: .allowed))
    }
}
