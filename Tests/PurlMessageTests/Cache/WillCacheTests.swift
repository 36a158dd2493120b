import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

/// A delegate that answers `willCacheResponse` as the test wants, and records the order of its calls.
private final class CacheDelegate: NSObject, URLSessionDataDelegate, Sendable {
    typealias Answer = @Sendable (CachedURLResponse) -> CachedURLResponse?

    private let calls = Mutex<[String]>([])
    private let answer: Answer
    private let completed = Signal()

    init(_ answer: @escaping Answer) { self.answer = answer }

    var log: [String] { calls.withLock { $0 } }

    func completion() async { await completed.wait() }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        calls.withLock { $0.append("cache \(proposedResponse.data.count)") }
        completionHandler(answer(proposedResponse))
        // Only the first answer counts.
        completionHandler(proposedResponse)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        calls.withLock { $0.append("data") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.withLock { $0.append("end") }
        completed.set()
    }
}

@Suite("The delegate's willCacheResponse", .timeLimit(.minutes(5)))
struct WillCacheTests {
    private let home = CacheHome()
    private let server: LoopbackServer
    private let cache: URLCache

    init() throws {
        server = try LoopbackServer()
        cache = home.cache()
    }

    private func load(
        _ reply: Reply, answer: @escaping @Sendable (CachedURLResponse) -> CachedURLResponse?
    ) async -> (log: [String], stored: CachedURLResponse?) {
        let url = server.route("/", reply)
        let delegate = CacheDelegate(answer)
        let session = home.session(cache, delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: url).resume()
        await delegate.completion()
        return (delegate.log, cache.cachedResponse(for: URLRequest(url: url)))
    }

    private var reply: Reply { .text("one").field("Cache-Control", "max-age=60") }

    @Test("willCacheResponse is called after the last byte and before the completion")
    func called() async {
        let (log, stored) = await load(reply) { $0 }
        #expect(log == ["data", "cache 3", "end"])
        #expect(stored?.data == Data("one".utf8))
        #expect((stored?.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("Nothing is stored when the delegate passes nil")
    func refused() async {
        let (log, stored) = await load(reply) { _ in nil }
        #expect(log == ["data", "cache 3", "end"])
        #expect(stored == nil)
    }

    @Test("The response that the delegate passes is stored instead")
    func changed() async throws {
        let (_, stored) = await load(reply) { proposed in
            CachedURLResponse(
                response: proposed.response, data: Data("mine".utf8), userInfo: ["a": 1],
                storagePolicy: .allowedInMemoryOnly)
        }
        #expect(stored?.data == Data("mine".utf8))
        #expect(stored?.userInfo?["a"] as? Int == 1)
        cache.store.flush()
        #expect(home.fileNames == [])
        let session = home.session(cache)
        #expect(try await session.data(from: server.url("/")).0 == Data("mine".utf8))
        #expect(server.requests.count == 1)
    }

    static let unasked: [Reply] = [
        .text("one").field("Cache-Control", "no-store"),
        .text("one").status(302).field("X", "no location"),
        .generated(size: 60_000),
        .text("one").cut(afterBytes: 1),
    ]

    @Test("willCacheResponse is not called for a response that may not be stored", arguments: unasked)
    func notCalled(reply: Reply) async {
        let (log, stored) = await load(reply) { $0 }
        #expect(!log.contains { $0.hasPrefix("cache") })
        #expect(stored == nil)
    }

    @Test("willCacheResponse is not called for a cached response")
    func fromCache() async {
        for expected in [["data", "cache 3", "end"], ["data", "end"]] {
            let (log, _) = await load(reply) { $0 }
            #expect(log == expected)
        }
    }
}

@Suite("Subclasses of URLCache, and caches filled by the program", .timeLimit(.minutes(5)))
struct CacheSubclassTests {
    private let home = CacheHome()

    /// A cache that records its calls and returns a response of its own.
    private final class OwnCache: URLCache, @unchecked Sendable {
        let calls = Mutex<[String]>([])
        let answer = Mutex<CachedURLResponse?>(nil)
        let stored = Signal()

        override func getCachedResponse(
            for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            calls.withLock { $0.append("get") }
            completionHandler(answer.withLock { $0 })
        }

        override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
            calls.withLock { $0.append("store \(cachedResponse.data.count)") }
            answer.withLock { $0 = cachedResponse }
            stored.set()
        }
    }

    @Test("A subclass is called with the task for each read and each write")
    func subclass() async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("one").field("Cache-Control", "max-age=600"))
        let cache = OwnCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        let own = URLSession(configuration: configuration)
        defer { own.invalidateAndCancel() }
        _ = try await own.data(from: url)
        await cache.stored.wait()
        #expect(try await own.data(from: url).0 == Data("one".utf8))
        #expect(cache.calls.withLock { $0 } == ["get", "store 3", "get"])
        #expect(server.requests.count == 1)
    }

    @Test("A response that the program stores is used like the server's")
    func byHand() async throws {
        let server = try LoopbackServer()
        let cache = home.cache()
        let url = server.route("/", .text("two"))
        let session = home.session(cache)
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1",
                headerFields: ["Cache-Control": "max-age=60", "Vary": "Accept-Encoding, User-Agent"]))
        let task = session.dataTask(with: url)
        cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("one".utf8)), for: task)
        #expect(try await session.data(from: url).0 == Data("one".utf8))
        #expect(await cache.cachedResponse(for: task)?.data == Data("one".utf8))
        cache.removeCachedResponse(for: task)
        #expect(await cache.cachedResponse(for: task) == nil)
        #expect(try await session.data(from: url).0 == Data("two".utf8))
        task.cancel()
    }

    @Test("A response whose bytes were iterated over is stored whole")
    func bytes() async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("content").field("Cache-Control", "max-age=60"))
        let cache = home.cache()
        let session = home.session(cache)
        for _ in 0..<2 {
            let (bytes, _) = try await session.bytes(from: url)
            var received: [UInt8] = []
            for try await byte in bytes { received.append(byte) }
            #expect(received == Array("content".utf8))
        }
        #expect(try await session.data(from: url).0 == Data("content".utf8))
        #expect(cache.cachedResponse(for: URLRequest(url: url))?.data == Data("content".utf8))
        #expect(server.requests.count == 1)
    }

    @Test("reset empties the cache, and flush writes it to disk")
    func sessionControl() async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("one"))
        let session = home.session(home.cache())
        _ = try await session.data(from: url)
        await withCheckedContinuation { continuation in session.flush { continuation.resume() } }
        #expect(home.fileNames.count == 1)
        await withCheckedContinuation { continuation in session.reset { continuation.resume() } }
        #expect(home.fileNames == [])
    }
}
