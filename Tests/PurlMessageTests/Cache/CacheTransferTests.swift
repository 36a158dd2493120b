import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Transfers and their cache", .timeLimit(.minutes(5)))
struct CacheTransferTests {
    private let witness = Witness()
    private let home = CacheHome()
    private let server: LoopbackServer
    private let cache: URLCache

    init() throws {
        server = try LoopbackServer()
        cache = home.cache()
    }

    private func text(_ session: URLSession, _ request: URLRequest) async throws -> String {
        String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    private func isStored(_ url: URL) -> Bool {
        cache.cachedResponse(for: URLRequest(url: url)) != nil
    }

    @Test("A 304 makes the stored response fresh and updates its fields (RFC 9111 §4.3.4)")
    func confirmation() async throws {
        let url = server.route(
            "/",
            .sequence([
                .text("one").entityTag("\"1\"").field("Cache-Control", "max-age=10").field("X", "old"),
                .text("").entityTag("\"1\"").field("Cache-Control", "max-age=60").field("X", "new"),
            ]))
        let session = home.session(cache)
        for wait in [0, 10, 59] as [Int64] {
            home.clock.advance(by: wait)
            let (data, response) = try await session.data(from: url)
            #expect(data == Data("one".utf8))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X") == (wait == 0 ? "old" : "new"))
        }
        #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\""])
        #expect(server.requests.map(\.connection) == [1, 1])
    }

    @Test(
        "What is confirmed is delivered, and not stored where the request or the 304 has no-store (RFC 9111 §5.2)",
        arguments: [true, false])
    func confirmationThatMayNotBeStored(isOfRequest: Bool) async throws {
        let control = isOfRequest ? "max-age=60" : "max-age=60, no-store"
        let url = server.route(
            "/",
            .sequence([
                .text("one").entityTag("\"1\"").field("Cache-Control", "max-age=10").field("X", "old"),
                .text("").entityTag("\"1\"").field("Cache-Control", control).field("X", "new"),
            ]))
        let session = home.session(cache)
        #expect(try await text(session, URLRequest(url: url)) == "one")
        home.clock.advance(by: 10)
        var request = URLRequest(url: url)
        if isOfRequest { request.setValue("no-store", forHTTPHeaderField: "Cache-Control") }
        let (data, response) = try await session.data(for: request)
        #expect(data == Data("one".utf8))
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X") == "new")
        let stored = cache.cachedResponse(for: URLRequest(url: url))?.response as? HTTPURLResponse
        #expect(stored?.value(forHTTPHeaderField: "X") == "old")
        #expect(try await text(session, URLRequest(url: url)) == "one")
        #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", "\"1\""])
    }

    @Test("After a 304 for another response the request is sent again without conditions")
    func otherValidator() async throws {
        let wrong = Reply.raw("HTTP/1.1 304 Not Modified\r\nETag: \"9\"\r\n\r\n", then: .keepOpen)
        let url = server.route("/", .sequence([.text("one").entityTag("\"1\""), wrong, .text("two")]))
        let session = home.session(cache)
        for expected in ["one", "two"] { #expect(try await text(session, URLRequest(url: url)) == expected) }
        #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", nil])
    }

    @Test("The response to an earlier request that ends later does not replace a newer one (RFC 9111 §4)")
    func overtaken() async throws {
        let gate = ServerGate()
        let url = server.route(
            "/",
            .sequence([
                .text("old one").field("Cache-Control", "max-age=60").stalled(afterBytes: 3, until: gate),
                .text("new").field("Cache-Control", "max-age=60"),
            ]))
        let session = home.session(cache)
        async let old = text(session, URLRequest(url: url))
        await gate.reached()
        let reload = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        #expect(try await text(session, reload) == "new")
        gate.open()
        #expect(try await old == "old one")
        #expect(try await text(session, URLRequest(url: url)) == "new")
        #expect(server.requests.count == 2)
    }

    @Test("Content is stored decoded, and a cached response equals the first one")
    func coded() async throws {
        // "hello, hello, hello" in gzip.
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA="))
        let url = server.route(
            "/", .bytes(coded).field("Content-Encoding", "gzip").field("Cache-Control", "max-age=60"))
        let session = home.session(cache)
        var lengths: [Int64] = []
        for _ in 0..<2 {
            let (data, response) = try await session.data(from: url)
            #expect(data == Data("hello, hello, hello".utf8))
            lengths.append(response.expectedContentLength)
        }
        #expect(lengths == [-1, -1])
        #expect(server.requests.count == 1)
    }

    @Test("Redirects are cached like other responses")
    func redirects() async throws {
        let url = server.route("/a", .redirect(301, to: "/b").field("Cache-Control", "max-age=60"))
        server.route("/b", .text("end").field("Cache-Control", "max-age=5"))
        let session = home.session(cache)
        #expect(try await text(session, URLRequest(url: url)) == "end")
        home.clock.advance(by: 5)
        #expect(try await text(session, URLRequest(url: url)) == "end")
        #expect(server.requests.map(\.path) == ["/a", "/b", "/b"])
    }

    static let incomplete: [(String, Reply)] = [
        ("cut", Reply.generated(size: 10_000).field("Cache-Control", "max-age=60").cut(afterBytes: 5_000)),
        ("until close", Reply.text("one").field("Cache-Control", "max-age=60").untilClose()),
        ("too large", Reply.generated(size: 60_000).field("Cache-Control", "max-age=60")),
        ("too large in chunks", Reply.generated(size: 60_000).field("Cache-Control", "max-age=60").chunked()),
        (
            "damaged coding",
            Reply.text("no gzip").field("Content-Encoding", "gzip").field("Cache-Control", "max-age=60")
        ),
    ]

    @Test("A body that is incomplete or too large is not stored", arguments: incomplete)
    func notStored(name: String, reply: Reply) async throws {
        let url = server.route("/", reply)
        let session = home.session(cache, witness)
        _ = try? await session.data(from: url)
        #expect(!isStored(url))
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(!isStored(url))
    }

    @Test("The response of a cancelled task is not stored")
    func cancelled() async throws {
        let gate = ServerGate()
        let url = server.route(
            "/", .generated(size: 1_000).field("Cache-Control", "max-age=60").stalled(afterBytes: 500, until: gate))
        let session = home.session(cache, witness)
        let task = session.dataTask(with: url).resumed()
        await witness.wait { $0.contains { if case .data = $0 { true } else { false } } }
        task.cancel()
        await witness.completion()
        gate.open()
        #expect(!isStored(url))
    }

    @Test("Downloads, uploads and sinks neither use nor fill the cache")
    func otherTasks() async throws {
        let url = server.route("/", .text("one").field("Cache-Control", "max-age=60"))
        let session = home.session(cache)
        func loadOtherwise() async throws {
            try FileManager.default.removeItem(at: try await session.download(from: url).0)
            _ = try await session.upload(for: URLRequest(url: url), from: Data())
        }
        try await loadOtherwise()
        #expect(!isStored(url))
        _ = try await session.data(from: url)
        #expect(isStored(url))
        try await loadOtherwise()
        #expect(server.requests.count == 5)
    }

    static let failures: [(name: String, stored: String, second: Reply, got: String?)] = [
        ("500", "max-age=5, stale-if-error=60", .status(500), "one"),
        ("503 with a long page", "max-age=5, stale-if-error=60", .generated(size: 200_000).status(503), "one"),
        ("504", "max-age=5, stale-if-error=4", .status(504), ""),
        ("404", "max-age=5, stale-if-error=60", .status(404), ""),
        ("no answer", "max-age=5, stale-if-error=60", .raw("", then: .reset), "one"),
        ("no answer", "max-age=5", .raw("", then: .reset), nil),
        ("cut", "max-age=5, stale-if-error=60", .generated(size: 1_000).cut(afterBytes: 10), nil),
    ]

    @Test("A stale response replaces a failure only where stale-if-error allows it (RFC 5861 §4)", arguments: failures)
    func staleIfError(name: String, stored: String, second: Reply, got: String?) async throws {
        let url = server.route("/", .sequence([.text("one").field("Cache-Control", stored), second]))
        let session = home.session(cache)
        _ = try await session.data(from: url)
        home.clock.advance(by: 10)
        let outcome = try? await text(session, URLRequest(url: url))
        #expect(outcome == got)
    }

    @Test("A stale response replaces a failed connection only where stale-if-error allows it")
    func unreachable() async throws {
        let server = try LoopbackServer()
        let url = server.route(
            "/", .text("one").field("Cache-Control", "max-age=5, stale-if-error=60").closingConnection())
        let session = home.session(cache)
        _ = try await session.data(from: url)
        server.stop()
        home.clock.advance(by: 10)
        let (data, response) = try await session.data(from: url)
        #expect(data == Data("one".utf8))
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Age") == "10")
        home.clock.advance(by: 60)
        await #expect(throws: URLError.self) { try await session.data(from: url) }
    }

    static let changes: [(method: String, status: Int, isForgotten: Bool)] = [
        ("POST", 201, true), ("PUT", 204, true), ("DELETE", 303, true), ("PATCH", 200, true),
        ("POST", 400, false), ("DELETE", 500, false), ("OPTIONS", 200, false),
    ]

    @Test(
        "A successful unsafe request removes the stored responses of its URL and Location (RFC 9111 §4.4)",
        arguments: changes)
    func invalidation(method: String, status: Int, isForgotten: Bool) async throws {
        let other = try LoopbackServer()
        let foreign = other.route("/x", .text("x").field("Cache-Control", "max-age=60"))
        let urls = ["/a", "/b", "/c"].map { path in
            server.route(path, method: "GET", .text(path).field("Cache-Control", "max-age=60"))
        }
        server.route(
            "/a", method: method,
            Reply.status(status).field("Location", "/b").field("Content-Location", foreign.absoluteString))
        let session = home.session(cache, Witness(redirect: { _ in nil }))
        for url in urls + [foreign] { _ = try await session.data(from: url) }
        var request = URLRequest(url: urls[0])
        request.httpMethod = method
        _ = try await session.data(for: request)
        #expect((urls + [foreign]).map { isStored($0) } == [!isForgotten, !isForgotten, true, true])
    }

    static let heads: [(stored: Reply, head: Reply, isForgotten: Bool)] = [
        (.text("one").entityTag("\"1\""), .text("one").entityTag("\"1\""), false),
        (.text("one").entityTag("\"1\""), .text("one").entityTag("\"2\""), true),
        (.text("one"), .text("one").entityTag("\"2\""), true),
        (.text("one").entityTag("\"1\""), .text("one"), false),
        (.text("one"), .text("other"), true),
        (.text("one"), .text("other").status(404), false),
        (.text("one").field("X", "1"), .text("one").field("X", "2"), false),
    ]

    @Test(
        "A HEAD that differs from the stored response removes it (RFC 9111 §4.3.5)", arguments: heads,
        [true, false])
    func headThatDiffers(row: (stored: Reply, head: Reply, isForgotten: Bool), isInMemory: Bool) async throws {
        let url = server.route("/", method: "GET", row.stored.field("Cache-Control", "max-age=60"))
        server.route("/", method: "HEAD", row.head)
        let cache = home.cache(memory: isInMemory ? 1 << 20 : 0)
        let session = home.session(cache)
        _ = try await session.data(from: url)
        cache.store.flush()
        var head = URLRequest(url: url)
        head.httpMethod = "HEAD"
        _ = try await session.data(for: head)
        // A response that is on disk only is read on the store's queue.
        cache.store.flush()
        #expect((cache.cachedResponse(for: URLRequest(url: url)) == nil) == row.isForgotten)
    }

    @Test("A cached response reaches the delegate in portions, with back-pressure")
    func delivery() async throws {
        let large = home.cache(disk: 40 << 20)
        let content = GeneratedContent(size: 1 << 20)
        let url = server.route("/", .generated(content).field("Cache-Control", "max-age=60"))
        let session = home.session(large, witness) { $0.limits.bufferedBytesPerTask = 100_000 }
        let tasks = (0..<2).map { _ in session.dataTask(with: url) }
        for (index, task) in tasks.enumerated() {
            task.resume()
            await witness.completion(of: index + 1)
            #expect(witness.data(of: task).count == 1 << 20)
            #expect(task.countOfBytesReceived == 1 << 20)
            #expect(task.countOfBytesExpectedToReceive == 1 << 20)
        }
        #expect(witness.data(of: tasks[0]) == witness.data(of: tasks[1]))
        #expect(
            witness.events == [
                .response(200), .data(1 << 20), .completed(nil), .response(200), .data(1 << 20), .completed(nil),
            ])
        #expect(server.requests.count == 1)
    }

    @Test("A delegate may cancel a cached response, or make it a download")
    func dispositions() async throws {
        let url = server.route("/", .text("one").field("Cache-Control", "max-age=60"))
        let plain = home.session(cache)
        _ = try await plain.data(from: url)
        plain.invalidateAndCancel()
        for (disposition, end) in [
            (URLSession.ResponseDisposition.cancel, [Witness.Event.completed(.cancelled)]),
            (.becomeDownload, [.becameDownload, .wrote(3, of: 3), .file(3), .completed(nil)]),
        ] {
            let witness = Witness(disposition: disposition)
            let session = home.session(cache, witness)
            session.dataTask(with: url).resume()
            await witness.completion()
            #expect(witness.events == [.response(200)] + end)
            session.invalidateAndCancel()
        }
        #expect(server.requests.count == 1)
    }

    @Test("A suspended task receives its cached response when it is resumed")
    func suspension() async throws {
        let url = server.route("/", .text("one").field("Cache-Control", "max-age=60"))
        let witness = Witness(hook: { task, event in
            if event == .response(200) { task.suspend() }
        })
        let session = home.session(cache, witness)
        for count in 1...2 {
            let task = session.dataTask(with: url).resumed()
            await witness.wait { $0.count { $0 == .response(200) } == count }
            task.resume()
            await witness.completion(of: count)
            #expect(witness.data(of: task) == Data("one".utf8))
        }
        #expect(server.requests.count == 1)
    }

    @Test("Many tasks share one cache, on disk and in memory")
    func concurrency() async throws {
        for index in 0..<10 {
            server.route("/\(index)", .text("content \(index)").entityTag("\"\(index)\""))
        }
        let sessions = [home.session(cache), home.session(home.cache(memory: 0))]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in 0..<100 {
                let (session, index) = (sessions[turn % 2], turn * 7 % 10)
                let url = server.url("/\(index)")
                group.addTask {
                    let (data, _) = try await session.data(from: url)
                    #expect(data == Data("content \(index)".utf8))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("A URL with a fragment is answered from the cache under its own URL, one with a user is not")
    func urls() async throws {
        let url = server.route("/a", .text("one").field("Cache-Control", "max-age=60"))
        let session = home.session(cache)
        _ = try await session.data(from: url)
        let fragment = try #require(URL(string: url.absoluteString + "#part"))
        let (_, response) = try await session.data(from: fragment)
        #expect(response.url == fragment)
        let user = try #require(URL(string: url.absoluteString.replacingOccurrences(of: "//", with: "//me@")))
        _ = try await session.data(from: user)
        #expect(server.requests.count == 2)
        // Each has its own now.
        for url in [url, user] { _ = try await session.data(from: url) }
        #expect(server.requests.count == 2)
    }

    @Test("A request with a Host of its own is answered with what was stored for that host alone (RFC 9110 §7.1)")
    func ownHost() async throws {
        let url = server.route(
            "/page", .computed { .text($0.fields["Host"] ?? "").field("Cache-Control", "max-age=60") })
        let session = home.session(cache)
        for _ in 0..<2 {
            for host in ["one.example", "two.example", nil] {
                var request = URLRequest(url: url)
                request.setValue(host, forHTTPHeaderField: "Host")
                #expect(try await text(session, request) == host ?? "\(url.host() ?? ""):\(url.port ?? 0)")
            }
        }
        #expect(server.requests.count == 3)
    }

    @Test(
        "A change of a resource removes the responses to all users and hosts (RFC 9111 §4.4)", arguments: [true, false])
    func invalidationForAll(isInMemory: Bool) async throws {
        let url = server.route("/a", method: "GET", .text("one").field("Cache-Control", "max-age=60"))
        server.route("/a", method: "POST", .text("changed"))
        let user = try #require(URL(string: url.absoluteString.replacingOccurrences(of: "//", with: "//me@")))
        var host = URLRequest(url: url)
        host.setValue("one.example", forHTTPHeaderField: "Host")
        let requests = [URLRequest(url: url), URLRequest(url: user), host]
        for index in requests.indices {
            let cache = home.cache(memory: isInMemory ? 1 << 20 : 0)
            cache.removeAllCachedResponses()
            let session = home.session(cache)
            for request in requests { _ = try await session.data(for: request) }
            cache.store.flush()
            #expect(requests.allSatisfy { cache.cachedResponse(for: $0) != nil })
            var change = requests[index]
            change.httpMethod = "POST"
            #expect(try await text(session, change) == "changed")
            cache.store.flush()
            #expect(requests.allSatisfy { cache.cachedResponse(for: $0) == nil })
        }
    }

    /// What removes a response.
    enum Removal: CaseIterable {
        case change, program
    }

    @Test(
        "What is removed while a response is on its way does not come back with it (RFC 9111 §4.4)",
        arguments: Removal.allCases, [true, false])
    func removedOnItsWay(removal: Removal, isConfirmation: Bool) async throws {
        let gate = ServerGate()
        let old = Reply.text("old").entityTag("\"1\"").field("Cache-Control", "max-age=60")
        let slow = isConfirmation ? Reply.status(304).entityTag("\"1\"").field("Cache-Control", "max-age=60") : old
        let url = server.route(
            "/a", method: "GET",
            .sequence((isConfirmation ? [old] : []) + [slow.delayed(until: gate), .text("new")]))
        server.route("/a", method: "POST", .text("changed"))
        let session = home.session(cache)
        if isConfirmation {
            _ = try await session.data(from: url)
            home.clock.advance(by: 61)
        }
        async let received = text(session, URLRequest(url: url))
        await gate.reached()
        switch removal {
        case .change:
            var change = URLRequest(url: url)
            change.httpMethod = "POST"
            _ = try await session.data(for: change)
        case .program: cache.removeAllCachedResponses()
        }
        gate.open()
        #expect(try await received == "old")
        #expect(!isStored(url))
        #expect(try await text(session, URLRequest(url: url)) == "new")
    }
}
