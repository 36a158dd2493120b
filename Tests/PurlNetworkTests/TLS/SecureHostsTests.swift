import Faults
import Foundation
import PurlSimulation
import PurlTesting
import Testing

@testable import Purl
@testable import PurlHTTP
@testable import PurlIO
@testable import SessionFixtures

@Suite("Hosts that want secure connections (RFC 6797)", .timeLimit(.minutes(5)))
struct SecureHostsTests {
    // MARK: The rule

    struct Row: Sendable, CustomTestStringConvertible {
        let field: String
        let from: String
        let url: String
        let secure: String?

        init(_ field: String, from: String = "https://a.example/", _ url: String, _ secure: String?) {
            (self.field, self.from, self.url, self.secure) = (field, from, url, secure)
        }

        var testDescription: String { "\(field) from \(from): \(url)" }
    }

    static let rows: [Row] = [
        Row("max-age=9", "http://a.example/x?y#z", "https://a.example/x?y#z"),
        Row("max-age=9", "HTTP://A.Example/", "https://A.Example/"),
        Row("max-age=9", "http://a.example./", "https://a.example./"),
        Row("max-age=9", "ws://a.example/", "wss://a.example/"),
        Row("max-age=9", "http://a.example:80/", "https://a.example/"),
        Row("max-age=9", "http://a.example:8080/", "https://a.example:8080/"),
        Row("max-age=9", "http://me:secret@a.example/", "https://me:secret@a.example/"),
        Row("max-age=9", "https://a.example/", nil),
        Row("max-age=9", "ftp://a.example/", nil),
        Row("max-age=9", "http://b.example/", nil),
        Row("max-age=9", "http://www.a.example/", nil),
        Row("max-age=9", "http://xa.example/", nil),
        Row("max-age=9; includeSubDomains", "http://www.a.example/", "https://www.a.example/"),
        Row("max-age=9; includeSubDomains", "http://x.www.a.example/", "https://x.www.a.example/"),
        Row("max-age=9; includeSubDomains", "http://xa.example/", nil),
        Row("max-age=9; includeSubDomains", "http://example/", nil),
        Row("max-age=9", from: "https://a.example:8443/", "http://a.example/", "https://a.example/"),
        Row("max-age=9", from: "https://127.0.0.1/", "http://127.0.0.1/", nil),
        Row("max-age=9", from: "https://[::1]/", "http://[::1]/", nil),
        Row("max-age=0", "http://a.example/", nil),
    ]

    @Test("A URL becomes secure where its host, or one above it, wants that", arguments: rows)
    func upgrade(row: Row) async throws {
        let from = try #require(URL(string: row.from))
        let url = try #require(URL(string: row.url))
        let field = try #require(StrictTransportSecurity(row.field))
        let secure = await Self.onNetworkThread {
            let hosts = SecureHosts(.system)
            hosts.take(field, from: from)
            return hosts.secureForm(of: url)
        }
        #expect(secure?.absoluteString == row.secure)
    }

    @Test("A later field takes the place of an earlier one; max-age=0 removes it, and time does")
    func changes() async throws {
        let from = try #require(URL(string: "https://a.example/"))
        let url = try #require(URL(string: "http://www.a.example/"))
        let clock = ManualClock()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.clock = clock
        let sessionClock = configuration.snapshot.clock
        let hosts = SecureHosts(sessionClock)
        func isSecure(after text: String?) async throws -> Bool {
            let field = try text.map { try #require(StrictTransportSecurity($0)) }
            return await Self.onNetworkThread {
                if let field { hosts.take(field, from: from) }
                return hosts.secureForm(of: url) != nil
            }
        }
        #expect(try await isSecure(after: "max-age=100; includeSubDomains"))
        #expect(try await !isSecure(after: "max-age=100"))
        #expect(try await isSecure(after: "max-age=100; includeSubDomains"))
        #expect(try await !isSecure(after: "max-age=0"))
        #expect(try await isSecure(after: "max-age=100; includeSubDomains"))
        clock.advance(by: .seconds(99))
        #expect(try await isSecure(after: nil))
        clock.advance(by: .seconds(1))
        #expect(try await !isSecure(after: nil))
    }

    private static func onNetworkThread<Result: Sendable>(
        _ body: @escaping @Sendable @NetworkActor () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume(returning: body()) } }
    }

    // MARK: In a session

    /// Names that lead to this machine.
    private struct Names: HostResolver {
        func addresses(of host: String) async throws -> [String] { ["127.0.0.1"] }
    }

    @Test(
        "A field from a secure response turns later http requests into https ones; one from a plain response, or from a server that is not trusted, does not",
        arguments: [(false, nil, true), (true, nil, false), (false, .unknownRoot, false)]
            as [(Bool, TLSTrust.Problem?, Bool)])
    func session(isPlain: Bool, problem: TLSTrust.Problem?, isLearned: Bool) async throws {
        let stage = try await SecureStage(provider: FakeProvider { $0.problem = { _ in problem } })
        stage.server.route("/file", .text("x").field("Strict-Transport-Security", "max-age=1000"))
        let session = stage.session(SessionTrustDelegate()) { $0.resolver = Names() }
        let first =
            isPlain
            ? try #require(URL(string: "http://site.test:\(stage.server.port)/file"))
            : stage.gate.url("/file", host: "site.test")
        _ = try await session.data(from: first)
        // The gate's port: in the open it closes the connection.
        let later = stage.gate.url("/file", host: "site.test", scheme: "http")
        let url = try? await session.data(from: later).1.url
        #expect(url == (isLearned ? stage.gate.url("/file", host: "site.test") : nil))
    }
}
