import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("The connections of a session", .timeLimit(.minutes(5)))
struct SessionConnectionTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let gate = ServerGate()

    enum Renewal: CaseIterable, Sendable {
        case flush, reset

        func perform(on session: URLSession) async {
            await withCheckedContinuation { continuation in
                switch self {
                case .flush: session.flush { continuation.resume() }
                case .reset: session.reset { continuation.resume() }
                }
            }
        }
    }

    @Test("After flush or reset new connections are made", arguments: Renewal.allCases)
    func renewal(renewal: Renewal) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let session = sandbox.session()
        for _ in 0..<3 {
            _ = try await session.data(from: url)
            _ = try await session.data(from: url)
            await renewal.perform(on: session)
            await server.waitUntilDisconnected()
        }
        #expect(server.requests.map(\.connection) == [1, 1, 2, 2, 3, 3])
    }

    @Test("flush and reset let a running transfer finish and then close its connection", arguments: Renewal.allCases)
    func underWay(renewal: Renewal) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 300_000, seed: 12)
        let url = server.route("/file", .generated(content).stalled(afterBytes: 1000, until: gate))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: url).resumed()
        await gate.reached()
        await renewal.perform(on: session)
        gate.open()
        await witness.completion()
        #expect(witness.data(of: task).isSame(as: content.data))
        _ = try await session.data(from: url)
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    @Test("finishTasksAndInvalidate closes the connections after the last task")
    func finish() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello").delayed(until: gate))
        let session = sandbox.session(witness)
        for _ in 0..<3 { session.dataTask(with: url).resume() }
        await gate.reached(times: 3)
        session.finishTasksAndInvalidate()
        gate.open()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events.count { $0 == .completed(nil) } == 3)
        await server.waitUntilDisconnected()
        #expect(server.requests.allSatisfy { $0.ending == .complete })
    }

    @Test("invalidateAndCancel closes the connections at once")
    func cancel() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(size: 1_000_000).stalled(afterBytes: 1000, until: gate))
        let session = sandbox.session(witness)
        for _ in 0..<3 { session.dataTask(with: url).resume() }
        await gate.reached(times: 3)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events.count { $0 == .completed(.cancelled) } == 3)
        await server.waitUntilDisconnected()
    }

    @Test("A session that is released closes its idle connections")
    func released() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        do {
            let sandbox = Sandbox()
            _ = try await sandbox.session().data(from: url)
        }
        await server.waitUntilDisconnected()
    }

    @Test("Sessions do not share connections")
    func apart() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let (first, second) = (sandbox.session(), sandbox.session())
        for _ in 0..<2 {
            _ = try await first.data(from: url)
            _ = try await second.data(from: url)
        }
        #expect(server.requests.map(\.connection) == [1, 2, 1, 2])
    }
}

@Suite("IPv6, Unix-domain sockets, and the Host field", .timeLimit(.minutes(5)))
struct HostAddressTests {
    private let sandbox = Sandbox()

    @Test("An IPv6 address is in brackets in the URL and the Host field", arguments: LoadForm.allCases)
    func ipv6(form: LoadForm) async throws {
        let server = try LoopbackServer(.ipv6)
        let content = GeneratedContent(size: 300_000, seed: 13)
        let url = server.route("/file", .generated(content))
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(server.requests.map { $0.fields["Host"] } == ["[::1]:\(server.port)"])
    }

    @Test(
        "A Unix-domain socket is reached by its percent-encoded path in place of a host", arguments: LoadForm.allCases)
    func unix(form: LoadForm) async throws {
        let path = sandbox.file("a socket").path
        let server = try LoopbackServer(.unix(path: path))
        let content = GeneratedContent(size: 300_000, seed: 14)
        server.route("/target", .generated(content))
        let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let url = try #require(URL(string: "http+unix://\(host)/target?q=1#f"))
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(outcome.response?.url == url)
        #expect(server.requests.map(\.target) == ["/target?q=1"])
        #expect(server.requests.map { $0.fields["Host"] } == ["localhost"])
    }

    @Test("A redirect within a Unix-domain socket reuses its connection")
    func unixRedirect() async throws {
        let path = sandbox.file("socket").path
        let server = try LoopbackServer(.unix(path: path))
        server.route("/start", .redirect(to: "/end"))
        server.route("/end", .text("end"))
        let host = path.replacingOccurrences(of: "/", with: "%2F")
        let outcome = try await LoadForm.dataDelegate.load(try #require(URL(string: "http+unix://\(host)/start")))
        outcome.expectSuccess(Data("end".utf8))
        #expect(outcome.response?.url?.absoluteString == "http+unix://\(host)/end")
        #expect(server.requests.map(\.connection) == [1, 1])
    }

    @Test(
        "The Host field is the URL's host and port, without user and password",
        arguments: [
            ("127.0.0.1:%PORT%", "127.0.0.1:%PORT%"), ("localhost:%PORT%", "localhost:%PORT%"),
            ("user:password@127.0.0.1:%PORT%", "127.0.0.1:%PORT%"), ("127.0.0.1:0%PORT%", "127.0.0.1:%PORT%"),
        ])
    func host(authority: String, field: String) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        func filled(_ text: String) -> String { text.replacingOccurrences(of: "%PORT%", with: "\(server.port)") }
        let url = try #require(URL(string: "http://\(filled(authority))/file"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("hello".utf8))
        #expect(server.requests.map { $0.fields["Host"] } == [filled(field)])
        #expect(server.requests.map { $0.fields.names.first } == ["Host"])
    }

    @Test("The request's own Host field is sent instead, once", arguments: ["Host", "host", "HOST"])
    func ownHost(name: String) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/file", .text("hello")))
        request.setValue("virtual.example", forHTTPHeaderField: name)
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data("hello".utf8))
        #expect(server.requests.map { $0.fields.values("Host") } == [["virtual.example"]])
    }

    @Test("Host names that differ in case only are the same origin")
    func capitals() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        let session = sandbox.session()
        for host in ["localhost", "LocalHost", "LOCALHOST"] {
            _ = try await session.data(from: try #require(URL(string: "http://\(host):\(server.port)/file")))
        }
        #expect(server.requests.map(\.connection) == [1, 1, 1])
    }
}

@Suite("A connection that its server closed", .timeLimit(.minutes(5)))
struct ClosedConnectionTests {
    private let sandbox = Sandbox()

    /// Weak references that have to become nil.
    @NetworkActor
    private final class Trace {
        weak var connection: HTTPConnection?

        init(_ connection: HTTPConnection?) { self.connection = connection }
    }

    /// The idle connection to a URL's origin, which stays in the pool.
    @NetworkActor
    private static func trace(_ url: URL, in session: URLSession) throws -> Trace {
        let connection = session.pool.takeIdle(to: .server(try TargetURI(url).origin), for: .any)
        if let connection { session.pool.release(connection, mayStay: true) }
        return Trace(connection)
    }

    @Test(
        "An idle connection that its server closed is released, with and without a rate limit",
        arguments: [nil, 1 << 20] as [Int?])
    func released(rate: Int?) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let session = sandbox.session { $0.limits.bytesReceivedPerSecond = rate }
        _ = try await session.data(from: url)
        let trace = try await Self.trace(url, in: session)
        #expect(await trace.connection != nil)
        server.closeConnections()
        while await trace.connection != nil, !Task.isCancelled { await NetworkThread.settle() }
        #expect(await trace.connection == nil)
        _ = try await session.data(from: url)
        #expect(server.acceptedConnections == 2)
    }
}
