import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The transactions of task metrics", .timeLimit(.minutes(5)))
struct MetricsTests {
    private let observer = TaskWitness()
    private let sandbox = Sandbox()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// Runs one task and returns the metrics that its delegate received.
    private func metrics(
        of path: String, _ observer: TaskWitness = TaskWitness(), in session: URLSession? = nil
    ) async throws -> URLSessionTaskMetrics {
        let session = session ?? sandbox.session(observer)
        let before = observer.metrics.count
        session.dataTask(with: server.url(path)).resume()
        await observer.completion(of: before + 1)
        return try #require(observer.metrics.last)
    }

    /// The dates that are set, in the required order.
    static func dates(_ transaction: URLSessionTaskTransactionMetrics) -> [Date] {
        [
            transaction.fetchStartDate, transaction.domainLookupStartDate, transaction.domainLookupEndDate,
            transaction.connectStartDate, transaction.connectEndDate, transaction.requestStartDate,
            transaction.requestEndDate, transaction.responseStartDate, transaction.responseEndDate,
        ].compactMap { $0 }
    }

    @Test("On a new connection every date is set, in order, within the task's interval")
    func dates() async throws {
        server.route("/file", .generated(size: 100_000))
        let begin = Date()
        let metrics = try await metrics(of: "/file")
        let transaction = try #require(metrics.transactionMetrics.first)
        let dates = Self.dates(transaction)
        #expect(dates.count == 9)
        #expect(dates == dates.sorted())
        let first = try #require(dates.first)
        let last = try #require(dates.last)
        #expect(metrics.taskInterval.start <= first)
        #expect(last <= metrics.taskInterval.end.addingTimeInterval(0.000_001))
        #expect(metrics.taskInterval.start > begin.addingTimeInterval(-1))
        #expect(metrics.taskInterval.end < Date().addingTimeInterval(1))
        #expect(transaction.secureConnectionStartDate == nil)
        #expect(transaction.secureConnectionEndDate == nil)
    }

    @Test("On a reused connection there are no look-up and connect dates")
    func reuse() async throws {
        server.route("/file", .text("hello"))
        let session = sandbox.session(observer)
        let first = try #require(try await metrics(of: "/file", observer, in: session).transactionMetrics.first)
        let second = try #require(try await metrics(of: "/file", observer, in: session).transactionMetrics.first)
        #expect(!first.isReusedConnection)
        #expect(second.isReusedConnection)
        #expect(second.domainLookupStartDate == nil)
        #expect(second.domainLookupEndDate == nil)
        #expect(second.connectStartDate == nil)
        #expect(second.connectEndDate == nil)
        #expect(Self.dates(second).count == 5)
        #expect(Self.dates(second) == Self.dates(second).sorted())
        #expect(second.localPort == first.localPort)
    }

    @Test("The addresses and ports of both ends and the protocol are those of the connection")
    func ends() async throws {
        server.route("/file", .text("hello"))
        let transaction = try #require(try await metrics(of: "/file").transactionMetrics.first)
        #expect(transaction.remoteAddress == "127.0.0.1")
        #expect(transaction.remotePort == server.url("/").port.map { "\($0)" })
        #expect(transaction.localAddress == "127.0.0.1")
        #expect(transaction.localPort.flatMap { Int($0) } ?? 0 > 0)
        #expect(transaction.localPort != transaction.remotePort)
        #expect(transaction.networkProtocolName == "http/1.1")
        #expect(transaction.resourceFetchType == .networkLoad)
        #expect(transaction.domainResolutionProtocol == .unknown)
        #expect(!transaction.isProxyConnection)
        #expect(!transaction.isCellular && !transaction.isExpensive && !transaction.isConstrained)
        #expect(!transaction.isMultipath)
        #expect(transaction.negotiatedTLSCipherSuite == nil)
        #expect(transaction.negotiatedTLSProtocolVersion == nil)
    }

    @Test("The request and the response are those on the wire")
    func messages() async throws {
        server.route("/file", .text("hello"))
        let transaction = try #require(try await metrics(of: "/file").transactionMetrics.first)
        #expect(transaction.request.url == server.url("/file"))
        #expect(
            transaction.request.value(forHTTPHeaderField: "User-Agent") == server.requests.first?.fields["User-Agent"])
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("Each redirect that is followed has a transaction")
    func redirects() async throws {
        server.route("/1", .redirect(302, to: "/2"))
        server.route("/2", .redirect(307, to: "/3"))
        server.route("/3", .text("end"))
        let metrics = try await metrics(of: "/1")
        #expect(metrics.redirectCount == 2)
        let transactions = metrics.transactionMetrics
        #expect(transactions.map { $0.request.url?.path } == ["/1", "/2", "/3"])
        #expect(transactions.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 307, 200])
        #expect(transactions.map(\.isReusedConnection) == [false, true, true])
        #expect(transactions.map(\.countOfResponseBodyBytesAfterDecoding) == [0, 0, 3])
        let dates = transactions.flatMap(Self.dates)
        #expect(dates == dates.sorted())
    }

    @Test("A redirect that the delegate refuses is not counted")
    func refusedRedirect() async throws {
        server.route("/1", .redirect(302, to: "/2"))
        let metrics = try await metrics(of: "/1", TaskWitness(redirect: { _ in nil }))
        #expect(metrics.redirectCount == 0)
        #expect(metrics.transactionMetrics.count == 1)
    }

    @Test("A request repeated with credentials has its own transaction and is not a redirect")
    func authentication() async throws {
        server.route(
            "/door",
            .sequence([
                .status(401).field("WWW-Authenticate", "Basic realm=\"door\""), .text("welcome"),
            ]))
        let observer = TaskWitness(challenge: { _ in
            (.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
        })
        let metrics = try await metrics(of: "/door", observer)
        let statuses = metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
        #expect(statuses == [401, 200])
        #expect(metrics.redirectCount == 0)
    }

    @Test("A request on a closed connection and its retry have a transaction each")
    func retry() async throws {
        server.route("/file", .sequence([.text("hello"), .text("").cut(at: .beforeHead), .text("hello")]))
        let session = sandbox.session(observer)
        _ = try await metrics(of: "/file", observer, in: session)
        let transactions = try await metrics(of: "/file", observer, in: session).transactionMetrics
        #expect(transactions.count == 2)
        #expect(transactions.map(\.isReusedConnection) == [true, false])
        #expect(transactions.first?.response == nil)
        #expect(transactions.first?.responseStartDate == nil)
        #expect(transactions.first?.requestEndDate != nil)
        #expect((transactions.last?.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("A refused connection has the dates up to the failure")
    func refused() async throws {
        let port = try DeadPort()
        sandbox.session(observer).dataTask(with: port.url("/")).resume()
        await observer.completion()
        withExtendedLifetime(port) {}
        #expect(observer.events == [.created, .metrics(transactions: 1), .completed(.cannotConnectToHost)])
        let transaction = try #require(observer.metrics.first?.transactionMetrics.first)
        #expect(transaction.fetchStartDate != nil)
        #expect(transaction.connectStartDate != nil)
        #expect(transaction.connectEndDate == nil)
        #expect(transaction.requestStartDate == nil)
        #expect(transaction.response == nil)
        #expect(transaction.networkProtocolName == nil)
        #expect(transaction.remoteAddress == nil)
    }

    @Test("The description names the requests")
    func description() async throws {
        server.route("/file", .text("hello"))
        let text = try await metrics(of: "/file").description
        #expect(text.contains("GET \(server.url("/file"))"))
        #expect(text.contains("200"))
    }
}

@Suite("resourceFetchType and isProxyConnection", .timeLimit(.minutes(5)))
struct FetchTypeTests {
    private let sandbox = Sandbox()
    private let observer = TaskWitness()

    private func transactions(
        _ url: URL, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [URLSessionTaskTransactionMetrics] {
        let session = sandbox.session(observer, change)
        session.dataTask(with: url).resume()
        await observer.completion()
        session.invalidateAndCancel()
        return try #require(observer.metrics.last?.transactionMetrics)
    }

    @Test("A response through a proxy is a network load with a proxy connection")
    func proxy() async throws {
        let proxy = try LoopbackServer()
        proxy.fallback(.text("content"))
        let url = try #require(URL(string: "http://example.invalid/file"))
        let made = try await transactions(url) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        #expect(made.map(\.isProxyConnection) == [true])
        #expect(made.first?.remotePort == "\(proxy.port)")
    }

    @Test("A response from a URLProtocol is of unknown origin")
    func stub() async throws {
        let url = try Stub.url("content")
        let made = try await transactions(url) { $0.stub() }
        #expect(made.map(\.resourceFetchType) == [.unknown])
        #expect(made.map(\.countOfResponseBodyBytesAfterDecoding) == [7])
    }

    @Test("A cached response is from the local cache")
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
