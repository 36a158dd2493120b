import Foundation
import Purl
import PurlTesting
import Testing

@Suite("What metrics say of the requests of a task", .timeLimit(.minutes(5)))
struct MetricsTests {
    private let sandbox: Sandbox
    private let server: LoopbackServer

    init() throws {
        sandbox = try Sandbox()
        server = try LoopbackServer()
    }

    /// Runs one task under an observer and returns what it was told.
    private func metrics(
        of path: String, _ observer: Observer = Observer(), in session: URLSession? = nil
    ) async throws -> URLSessionTaskMetrics {
        let session = session ?? sandbox.session(observer)
        let before = observer.metrics.count
        session.dataTask(with: server.url(path)).resume()
        await observer.completion(of: before + 1)
        return try #require(observer.metrics.last)
    }

    /// The dates that are there, in the order in which they have to be.
    static func dates(_ transaction: URLSessionTaskTransactionMetrics) -> [Date] {
        [
            transaction.fetchStartDate, transaction.domainLookupStartDate, transaction.domainLookupEndDate,
            transaction.connectStartDate, transaction.connectEndDate, transaction.requestStartDate,
            transaction.requestEndDate, transaction.responseStartDate, transaction.responseEndDate,
        ].compactMap { $0 }
    }

    @Test("A new connection: every date, in order, within the task's interval")
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

    @Test("A connection that was there already was not looked up and not connected")
    func reuse() async throws {
        server.route("/file", .text("hello"))
        let observer = Observer()
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
        session.finishTasksAndInvalidate()
    }

    @Test("Both ends of the connection, and its protocol")
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

    @Test("The request as it went over the wire, and its response")
    func messages() async throws {
        server.route("/file", .text("hello"))
        let transaction = try #require(try await metrics(of: "/file").transactionMetrics.first)
        #expect(transaction.request.url == server.url("/file"))
        #expect(
            transaction.request.value(forHTTPHeaderField: "User-Agent") == server.requests.first?.fields["User-Agent"])
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("Redirects that are followed: a transaction each")
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

    @Test("A redirect that the delegate does not want is none")
    func refusedRedirect() async throws {
        server.route("/1", .redirect(302, to: "/2"))
        let metrics = try await metrics(of: "/1", Observer(redirect: { _ in nil }))
        #expect(metrics.redirectCount == 0)
        #expect(metrics.transactionMetrics.count == 1)
    }

    @Test("A request that is sent again with credentials has a transaction of its own, and is no redirect")
    func authentication() async throws {
        server.route(
            "/door",
            .sequence([
                .status(401).field("WWW-Authenticate", "Basic realm=\"door\""), .text("welcome"),
            ]))
        let observer = Observer(challenge: { _ in
            (.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
        })
        let metrics = try await metrics(of: "/door", observer)
        let statuses = metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
        #expect(statuses == [401, 200])
        #expect(metrics.redirectCount == 0)
    }

    @Test("A dead idle connection: the request that it took with it, and the one that followed")
    func retry() async throws {
        server.route("/file", .sequence([.text("hello"), .text("").cut(at: .beforeHead), .text("hello")]))
        let observer = Observer()
        let session = sandbox.session(observer)
        _ = try await metrics(of: "/file", observer, in: session)
        let transactions = try await metrics(of: "/file", observer, in: session).transactionMetrics
        #expect(transactions.count == 2)
        #expect(transactions.map(\.isReusedConnection) == [true, false])
        #expect(transactions.first?.response == nil)
        #expect(transactions.first?.responseStartDate == nil)
        #expect(transactions.first?.requestEndDate != nil)
        #expect((transactions.last?.response as? HTTPURLResponse)?.statusCode == 200)
        session.finishTasksAndInvalidate()
    }

    @Test("A connection that was not made: what went on until then")
    func refused() async throws {
        let port = try DeadPort()
        let observer = Observer()
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

    @Test("Who describes them sees what they are about")
    func description() async throws {
        server.route("/file", .text("hello"))
        let text = try await metrics(of: "/file").description
        #expect(text.contains("GET \(server.url("/file"))"))
        #expect(text.contains("200"))
    }
}
