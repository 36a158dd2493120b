import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Cache policies", .timeLimit(.minutes(5)))
struct CachePolicyTests {
    private let home = CacheHome()

    /// The stored response at the time of the request.
    enum Stored: Sendable, CaseIterable { case nothing, fresh, stale, withoutValidator }

    struct Row: Sendable {
        let policy: URLRequest.CachePolicy
        let stored: Stored
        /// "one" is what was stored, "two" what the server has; nil: `URLError.resourceUnavailable`.
        let got: String?
        /// The fields of the request that the server saw for it; nil: it saw none.
        var seen: [String: String]?
    }

    static let fields = ["If-None-Match", "Cache-Control", "Pragma"]

    static let table: [Row] = [
        Row(policy: .useProtocolCachePolicy, stored: .nothing, got: "two", seen: [:]),
        Row(policy: .useProtocolCachePolicy, stored: .fresh, got: "one"),
        Row(policy: .useProtocolCachePolicy, stored: .stale, got: "one", seen: ["If-None-Match": "\"1\""]),
        Row(policy: .useProtocolCachePolicy, stored: .withoutValidator, got: "two", seen: [:]),
        Row(policy: .reloadIgnoringLocalCacheData, stored: .nothing, got: "two", seen: [:]),
        Row(policy: .reloadIgnoringLocalCacheData, stored: .fresh, got: "two", seen: [:]),
        Row(
            policy: .reloadIgnoringLocalAndRemoteCacheData, stored: .fresh, got: "two",
            seen: ["Cache-Control": "no-cache", "Pragma": "no-cache"]),
        Row(policy: .returnCacheDataElseLoad, stored: .nothing, got: "two", seen: [:]),
        Row(policy: .returnCacheDataElseLoad, stored: .fresh, got: "one"),
        Row(policy: .returnCacheDataElseLoad, stored: .stale, got: "one"),
        Row(policy: .returnCacheDataElseLoad, stored: .withoutValidator, got: "one"),
        Row(policy: .returnCacheDataDontLoad, stored: .nothing, got: nil),
        Row(policy: .returnCacheDataDontLoad, stored: .fresh, got: "one"),
        Row(policy: .returnCacheDataDontLoad, stored: .stale, got: "one"),
        Row(
            policy: .reloadRevalidatingCacheData, stored: .nothing, got: "two", seen: ["Cache-Control": "max-age=0"]),
        Row(
            policy: .reloadRevalidatingCacheData, stored: .fresh, got: "one",
            seen: ["If-None-Match": "\"1\"", "Cache-Control": "max-age=0"]),
        Row(
            policy: .reloadRevalidatingCacheData, stored: .withoutValidator, got: "two",
            seen: ["Cache-Control": "max-age=0"]),
    ]

    @Test(
        "Each policy of a request or a session uses the cache and the server as documented", arguments: table,
        [true, false])
    func policies(row: Row, ofSession: Bool) async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("two").entityTag("\"1\""))
        let cache = home.cache()
        store(row.stored, in: cache, home.clock, url)
        let session = home.session(cache) { if ofSession { $0.requestCachePolicy = row.policy } }
        var request = URLRequest(url: url)
        if !ofSession { request.cachePolicy = row.policy }
        do {
            let (data, response) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == row.got)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        } catch {
            #expect(row.got == nil)
            #expect((error as? URLError)?.code == .resourceUnavailable)
            #expect((error as? URLError)?.failingURL == url)
        }
        let seen = server.requests.map { request in
            Dictionary(uniqueKeysWithValues: Self.fields.compactMap { name in request.fields[name].map { (name, $0) } })
        }
        #expect(seen == (row.seen.map { [$0] } ?? []))
    }

    private func store(_ stored: Stored, in cache: URLCache, _ clock: TestClock, _ url: URL) {
        let fields: [String: String]
        switch stored {
        case .nothing: return
        case .fresh, .stale: fields = ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
        case .withoutValidator: fields = [:]
        }
        guard
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        cache.storeCachedResponse(
            CachedURLResponse(response: response, data: Data("one".utf8)), for: URLRequest(url: url))
        if stored == .stale { clock.advance(by: 60) }
    }

    @Test("A reloaded response replaces the stored one")
    func reloadStores() async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("two").field("Cache-Control", "max-age=60"))
        let cache = home.cache()
        store(.fresh, in: cache, home.clock, url)
        let session = home.session(cache)
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        _ = try await session.data(for: request)
        request.cachePolicy = .returnCacheDataDontLoad
        #expect(try await session.data(for: request).0 == Data("two".utf8))
    }

    @Test("A request with cache fields of its own is sent unchanged")
    func ownFields() async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("two"))
        let session = home.session(home.cache())
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalAndRemoteCacheData)
        request.setValue("max-age=5", forHTTPHeaderField: "Cache-Control")
        _ = try await session.data(for: request)
        #expect(server.requests.map { $0.fields.values("Cache-Control") } == [["max-age=5"]])
        #expect(server.requests.map { $0.fields.values("Pragma") } == [[]])
    }

    @Test("Without a cache nothing is stored, and returnCacheDataDontLoad fails")
    func noCache() async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .text("one").entityTag("\"1\"").field("Cache-Control", "max-age=60"))
        let session = home.session(nil)
        for _ in 0..<2 { _ = try await session.data(from: url) }
        #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, nil])
        await #expect(throws: URLError.self) {
            try await session.data(for: URLRequest(url: url, cachePolicy: .returnCacheDataDontLoad))
        }
    }
}
