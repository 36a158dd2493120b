import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Metrics say where a response came from", .timeLimit(.minutes(5)))
struct FetchTypeTests {
    private let sandbox: Sandbox
    private let observer = Observer()

    init() throws {
        sandbox = try Sandbox()
    }

    private func transactions(
        _ url: URL, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [URLSessionTaskTransactionMetrics] {
        let session = sandbox.session(observer, change)
        session.dataTask(with: url).resume()
        await observer.completion()
        session.invalidateAndCancel()
        return try #require(observer.metrics.last?.transactionMetrics)
    }

    @Test("from a proxy")
    func proxy() async throws {
        let proxy = try LoopbackServer()
        proxy.fallback(.text("content"))
        let url = try #require(URL(string: "http://example.invalid/file"))
        let made = try await transactions(url) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        #expect(made.map(\.isProxyConnection) == [true])
        #expect(made.first?.remotePort == "\(proxy.port)")
    }

    @Test("from a protocol of one's own")
    func stub() async throws {
        let url = try Stub.url("content")
        let made = try await transactions(url) { $0.stub() }
        #expect(made.map(\.resourceFetchType) == [.unknown])
        #expect(made.map(\.countOfResponseBodyBytesAfterDecoding) == [7])
    }

    @Test("from the cache")
    func cache() async throws {
        let url = try #require(URL(string: "http://example.invalid/file"))
        let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=100"])
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        let stored = CachedURLResponse(response: try #require(response), data: Data("content".utf8))
        cache.storeCachedResponse(stored, for: URLRequest(url: url))
        let made = try await transactions(url) { $0.urlCache = cache }
        #expect(made.map(\.resourceFetchType) == [.localCache])
    }
}
