import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The cookies of a session's transfers", .timeLimit(.minutes(5)))
struct CookieTransferTests {
    /// Loads the request twice in one session, and returns the session's cookie storage.
    private func load(
        _ request: URLRequest, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> HTTPCookieStorage? {
        let configuration = URLSessionConfiguration.ephemeral
        change(configuration)
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let (data, _) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == "end")
        }
        return configuration.httpCookieStorage
    }

    private func seen(by server: LoopbackServer) -> [[String]] {
        server.requests.map { $0.fields.values("Cookie") }
    }

    private func server() throws -> (LoopbackServer, URLRequest) {
        let server = try LoopbackServer()
        let url = server.route(
            "/x/1", .redirect(to: "/x/2").field("Set-Cookie", "a=1").field("Set-Cookie", "s=1; Secure"))
        server.route("/x/2", .text("end").field("Set-Cookie", "b=2; Path=/").field("Set-Cookie", "c=3; Path=/other"))
        return (server, URLRequest(url: url))
    }

    @Test("Cookies are stored and sent on redirects in one field, secure ones not on plain connections")
    func redirects() async throws {
        let (server, request) = try server()
        let storage = try await load(request)
        #expect(seen(by: server) == [[], ["a=1"], ["a=1; b=2"], ["a=1; b=2"]])
        #expect(storage?.names == ["a", "b", "c"])
    }

    @Test("httpShouldHandleCookies and httpShouldSetCookies decide what is sent and stored")
    func handlesNone() async throws {
        var (server, request) = try server()
        let sent = try await load(request) { $0.httpShouldSetCookies = false }
        #expect(seen(by: server) == [[], [], [], []])
        #expect(sent?.names == ["a", "b", "c"])
        request.httpShouldHandleCookies = false
        #expect(try await load(request)?.names == [])
        #expect(try await load(request) { $0.httpCookieStorage = nil } == nil)
    }

    @Test("The configuration's accept policy decides what is stored")
    func policy() async throws {
        var (server, request) = try server()
        #expect(try await load(request) { $0.httpCookieAcceptPolicy = .never }?.names == [])
        request.mainDocumentURL = URL(string: "http://elsewhere.example/")
        #expect(try await load(request)?.names == [])
        #expect(try await load(request) { $0.httpCookieAcceptPolicy = .always }?.names == ["a", "b", "c"])
        #expect(server.requests.count == 12)
    }

    @Test("A request's own Cookie field is sent unchanged")
    func ownField() async throws {
        var (server, request) = try server()
        request.setValue("mine=1", forHTTPHeaderField: "Cookie")
        _ = try await load(request)
        #expect(seen(by: server) == [["mine=1"], ["mine=1"], ["mine=1"], ["mine=1"]])
    }
}
