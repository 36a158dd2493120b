import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Failures to connect", .timeLimit(.minutes(5)))
struct ConnectFailureTests {
    private let sandbox = Sandbox()

    @Test("A closed port fails with cannotConnectToHost", arguments: LoadForm.allCases)
    func refused(form: LoadForm) async throws {
        let port = try DeadPort()
        let outcome = try await form.load(port.url("/file"))
        outcome.expectFailure(.cannotConnectToHost, at: port.url("/file"))
        #expect(outcome.error?.userInfo[NSUnderlyingErrorKey] is NSError)
        #expect(outcome.events.filter { if case .response = $0 { true } else { false } } == [])
    }

    @Test(
        "A name that does not exist fails with cannotFindHost, or dnsLookupFailed without a resolver",
        arguments: LoadForm.allCases)
    func noSuchName(form: LoadForm) async throws {
        let url = try #require(URL(string: "http://x.invalid/file"))
        let outcome = try await form.load(url)
        let code = try #require(outcome.error?.code)
        #expect([.cannotFindHost, .dnsLookupFailed].contains(code))
        outcome.expectFailure(code, at: url)
        #expect(outcome.sentence.contains("x.invalid"))
    }

    @Test(
        "A host name that hides a character which ends a host fails with badURL",
        arguments: ["http://localhost%00.example/file", "https://evil.test%25.bank.test/", "http://localhost%2F.test/"])
    func hiddenEnd(url: String) async throws {
        let url = try #require(URL(string: url))
        try await LoadForm.dataDelegate.load(url).expectFailure(.badURL, at: url)
    }

    @Test(
        "localhost, and names below it, are this machine in both address families",
        arguments: ["localhost", "x.localhost", "LOCALHOST."], [LoopbackServer.Transport.ipv4, .ipv6])
    func localhost(host: String, transport: LoopbackServer.Transport) async throws {
        let server = try LoopbackServer(transport)
        server.route("/file", .text("hello"))
        let url = try #require(URL(string: "http://\(host):\(server.port)/file"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("hello".utf8))
    }

    // TCP cannot connect to a multicast address, so nothing leaves the machine.
    @Test("An address without a route fails with notConnectedToInternet", arguments: LoadForm.allCases)
    func noRoute(form: LoadForm) async throws {
        let url = try #require(URL(string: "http://224.0.0.1/file"))
        try await form.load(url).expectFailure(.notConnectedToInternet, at: url)
    }

    @Test("A missing Unix-domain socket fails with cannotConnectToHost", arguments: LoadForm.allCases)
    func noSocket(form: LoadForm) async throws {
        let url = try #require(URL(string: "http+unix://%2Fno%2Fsuch%2Fsocket/file"))
        try await form.load(url).expectFailure(.cannotConnectToHost, at: url)
    }

    @Test("A Unix-domain socket with too long a path fails")
    func socketPathTooLong() async throws {
        let path = String(repeating: "%2Flong", count: 60)
        let url = try #require(URL(string: "http+unix://\(path)/file"))
        let outcome = try await LoadForm.dataDelegate.load(url)
        let code = try #require(outcome.error?.code)
        outcome.expectFailure(code, at: url)
    }

    @Test("A failed connection frees its place for the next waiting task")
    func failedConnectionsFreeTheirPlaces() async throws {
        let port = try DeadPort()
        let witness = Witness()
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        for _ in 0..<5 { session.dataTask(with: port.url("/file")).resume() }
        await witness.completion(of: 5)
        withExtendedLifetime(port) {}
        #expect(witness.events == Array(repeating: .completed(.cannotConnectToHost), count: 5))
    }
}
