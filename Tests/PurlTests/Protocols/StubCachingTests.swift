import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Responses of a URLProtocol in the cache", .timeLimit(.minutes(5)))
struct StubCachingTests {
    /// A delegate that finds out what is stored when its task completes.
    private final class Observer: NSObject, URLSessionDataDelegate, Sendable {
        private let cache: URLCache
        private let proposals = Mutex<[URLCache.StoragePolicy]>([])
        private let found = Mutex<CachedURLResponse?>(nil)
        private let completed = Signal()

        init(_ cache: URLCache) { self.cache = cache }

        var proposedPolicies: [URLCache.StoragePolicy] { proposals.withLock { $0 } }

        func storedAtCompletion() async -> CachedURLResponse? {
            await completed.wait()
            return found.withLock { $0 }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            proposals.withLock { $0.append(proposed.storagePolicy) }
            completionHandler(proposed)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let stored = task.originalRequest.flatMap { cache.cachedResponse(for: $0) }
            found.withLock { $0 = stored }
            completed.set()
        }
    }

    private let home = CacheHome()
    private let cache: URLCache

    init() throws {
        cache = home.cache()
    }

    private func url(_ policy: URLCache.StoragePolicy) throws -> URL {
        try Stub.url { stub in
            stub.respond(storing: policy)
            stub.send("one ")
            stub.send("two")
            stub.finish()
        }
    }

    @Test(
        "A response is stored before its handler is called, where the protocol lets it be",
        arguments: [
            (URLCache.StoragePolicy.allowed, true), (.allowedInMemoryOnly, true), (.notAllowed, false),
        ])
    func handler(_ policy: URLCache.StoragePolicy, _ isStored: Bool) async throws {
        let url = try url(policy)
        let session = home.session(cache) { $0.stub() }
        let stored = await withCheckedContinuation { continuation in
            session.dataTask(with: url) { [cache] _, _, _ in
                continuation.resume(returning: cache.cachedResponse(for: URLRequest(url: url)))
            }.resume()
        }
        #expect(stored?.data == (isStored ? Data("one two".utf8) : nil))
        #expect(stored?.storagePolicy == (isStored ? policy : nil))
        await Stub.wait(for: 2, url)
        #expect(Stub.calls(url) == ["start", "stop"])
    }

    @Test("It is stored before an async call returns")
    func asynchronous() async throws {
        let url = try url(.allowed)
        let session = home.session(cache) { $0.stub() }
        _ = try await session.data(from: url)
        #expect(cache.cachedResponse(for: URLRequest(url: url))?.data == Data("one two".utf8))
    }

    @Test("The delegate is asked, and it is stored before the delegate receives the completion")
    func delegate() async throws {
        let url = try url(.allowed)
        let observer = Observer(cache)
        let session = home.session(cache, observer) { $0.stub() }
        session.dataTask(with: url).resume()
        #expect(await observer.storedAtCompletion()?.data == Data("one two".utf8))
        #expect(observer.proposedPolicies == [.allowed])
    }

    @Test("It is not on disk where the protocol allows memory alone")
    func memoryOnly() async throws {
        let session = home.session(cache) { $0.stub() }
        _ = try await session.data(from: try url(.allowedInMemoryOnly))
        await session.flush()
        #expect(home.fileNames == [])
        _ = try await session.data(from: try url(.allowed))
        await session.flush()
        #expect(home.fileNames.count == 1)
    }

    @Test("The response to a request with a body, and one that fails, are not stored")
    func others() async throws {
        let session = home.session(cache) { $0.stub() }
        var post = URLRequest(url: try url(.allowed))
        post.httpMethod = "POST"
        post.httpBody = Data("body".utf8)
        _ = try await session.data(for: post)
        let failing = try Stub.url { stub in
            stub.respond(storing: .allowed)
            stub.send("one")
            stub.fail(URLError(.cannotParseResponse))
        }
        await #expect(throws: URLError.self) { try await session.data(from: failing) }
        #expect(cache.cachedResponse(for: URLRequest(url: failing)) == nil)
        #expect(cache.cachedResponse(for: URLRequest(url: try #require(post.url))) == nil)
    }
}
