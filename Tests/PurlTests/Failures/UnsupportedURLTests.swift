import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("URLs that cannot be loaded", .timeLimit(.minutes(5)))
struct UnsupportedURLTests {
    private let sandbox = Sandbox()

    @Test(
        "An unsupported scheme fails with unsupportedURL, and a reason that names TLS for https",
        arguments: [
            "https://127.0.0.1/file", "HTTPS://127.0.0.1/file", "ftp://127.0.0.1/file",
            "file://other.example/etc/hosts",
            "mailto:a@example.com", "foo://127.0.0.1/", "//127.0.0.1/file",
            "file", "?query", "javascript:alert(1)", "https+unix://%2Ftmp%2Fsocket/",
        ], LoadForm.allCases)
    func unknownScheme(text: String, form: LoadForm) async throws {
        let url = try #require(URL(string: text))
        let outcome = try await form.load(url)
        outcome.expectFailure(.unsupportedURL, at: url)
        #expect(outcome.sentence.contains("TLS"))
    }

    @Test(
        "A URL without a host, or with an invalid port, fails with badURL",
        arguments: [
            "http:///file", "http://", "http:file", "http:/file", "http://:80/", "http://user@/", "http://127.0.0.1:0/",
            "http://127.0.0.1:65536/", "http://127.0.0.1:99999/", "http+unix://relative/file", "http+unix:///file",
            "http+unix://%2Frun%2FA.s:80/file",
        ], LoadForm.allCases)
    func noHost(text: String, form: LoadForm) async throws {
        guard let url = URL(string: text) else { return }
        try await form.load(url).expectFailure(.badURL, at: url)
    }

    @Test("A request without a URL fails with unsupportedURL", arguments: LoadForm.allCases)
    func noURL(form: LoadForm) async throws {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/")))
        request.url = nil
        try await form.load(request).expectFailure(.unsupportedURL, at: nil)
    }

    @Test(
        "A redirect to an unsupported scheme fails with the URL of the redirect",
        arguments: ["https://127.0.0.1/file", "ftp://127.0.0.1/file", "file:///etc/hosts", "data:,hello"],
        LoadForm.allCases)
    func afterRedirect(location: String, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .redirect(to: location))
        let outcome = try await form.load(url)
        outcome.expectFailure(.unsupportedURL, at: URL(string: location))
        #expect(outcome.sentence.contains("TLS"))
        #expect(server.requests.map(\.path) == ["/file"])
    }

    @Test("A redirect from a network server to a Unix-domain socket fails", arguments: LoadForm.allCases)
    func redirectToUnixSocket(form: LoadForm) async throws {
        let local = try LoopbackServer(.unix(path: sandbox.file("local").path))
        local.fallback(.text("secret"))
        let path = sandbox.file("local").path.replacingOccurrences(of: "/", with: "%2F")
        let server = try LoopbackServer()
        let location = "http+unix://\(path)/secret"
        let url = server.route("/file", .redirect(307, to: location))
        let outcome = try await form.load(url)
        outcome.expectFailure(.unsupportedURL, at: URL(string: location))
        #expect(local.requests == [])
    }

    @Test(
        "returnCacheDataDontLoad without a cached response fails with resourceUnavailable", arguments: LoadForm.allCases
    )
    func onlyFromCache(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let request = URLRequest(url: url, cachePolicy: .returnCacheDataDontLoad)
        try await form.load(request).expectFailure(.resourceUnavailable, at: url)
        #expect(server.acceptedConnections == 0)
    }

    @Test("The session's cache policy applies to a task made from a URL")
    func onlyFromCacheBySession() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let session = sandbox.session { $0.requestCachePolicy = .returnCacheDataDontLoad }
        let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
        #expect(error?.code == .resourceUnavailable)
        #expect(server.acceptedConnections == 0)
    }

    @Test(
        "Every other cache policy loads from the server",
        arguments: [
            URLRequest.CachePolicy.useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad,
            .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData,
        ])
    func otherPolicies(policy: URLRequest.CachePolicy) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        try await LoadForm.dataAsync.load(URLRequest(url: url, cachePolicy: policy)).expectSuccess(Data("hello".utf8))
    }
}
