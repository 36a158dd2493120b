import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Requirements of RFC 9110 and RFC 9112 on single methods, fields and statuses", .timeLimit(.minutes(5)))
struct ConformanceWireTests {
    private let server: LoopbackServer
    private let sandbox = Sandbox()

    init() throws {
        server = try LoopbackServer()
    }

    private func request(_ method: String, _ url: URL, body: Data? = nil) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        return request
    }

    /// Loads the request in its own session.
    private func load(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let session = sandbox.session()
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        return (data, try #require(response as? HTTPURLResponse))
    }

    private func expectRefusal(_ request: URLRequest, naming reason: String) async {
        let error = await #expect(throws: URLError.self) { _ = try await load(request) }
        #expect(error?.code == .badURL)
        #expect(error?.failureSentence.contains(reason) == true)
        #expect(error?.failingURL == request.url)
        #expect(server.requests.isEmpty)
    }

    @Test("A target of 8000 octets and more is sent whole (RFC 9112 §3)", arguments: [8_000, 30_000])
    func longRequestLine(length: Int) async throws {
        server.fallback(.text("here"))
        let path = "/" + String(repeating: "a", count: length)
        #expect(try await load(request("GET", server.url(path))).0 == Data("here".utf8))
        #expect(server.requests.map(\.path) == [path])
    }

    @Test("A request with the method CONNECT fails and is not sent (RFC 9110 §9.3.6)")
    func connect() async {
        await expectRefusal(request("CONNECT", server.route("/", .text("no"))), naming: "CONNECT")
    }

    @Test("A TRACE request with content fails and is not sent (RFC 9110 §9.3.8)")
    func traceContent() async {
        await expectRefusal(request("TRACE", server.route("/", .text("no")), body: Data("x".utf8)), naming: "TRACE")
    }

    @Test("A TRACE request carries no cookies or credentials but the caller's own fields (RFC 9110 §9.3.8)")
    func traceSecrets() async throws {
        let url = server.route("/", .text("in").field("Set-Cookie", "a=b"))
        server.route(
            "/", method: "TRACE", .text("no").status(401).field("WWW-Authenticate", "Basic realm=\"r\""))
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            host: "127.0.0.1", port: try #require(url.port), protocol: "http", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        storage.setDefaultCredential(URLCredential(user: "u", password: "p", persistence: .forSession), for: space)
        let session = sandbox.session {
            $0.urlCredentialStorage = storage
            $0.httpCookieStorage = HTTPCookieStorage()
        }
        _ = try await session.data(from: url)
        let (data, response) = try await session.data(for: request("TRACE", url))
        #expect(data == Data("no".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 401)
        // Requests with other methods carry both.
        _ = try await session.data(from: url)
        #expect(server.requests.map { $0.fields["Cookie"] } == [nil, nil, "a=b"])
        #expect(server.requests.map { $0.fields["Authorization"] } == [nil, nil, nil])
    }

    @Test("An OPTIONS request with content has a Content-Type (RFC 9110 §9.3.7)")
    func optionsContent() async throws {
        let url = server.route("/", .text("all"))
        var streamed = request("OPTIONS", url)
        streamed.httpBodyStream = InputStream(data: Data("x".utf8))
        var typed = request("OPTIONS", url)
        typed.httpBodyStream = InputStream(data: Data("x".utf8))
        typed.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        for request in [streamed, typed, request("OPTIONS", url)] { _ = try await load(request) }
        #expect(
            server.requests.map { $0.fields["Content-Type"] } == ["application/octet-stream", "text/plain", nil])
    }

    @Test("A request without content is sent without Expect: 100-continue (RFC 9110 §10.1.1)")
    func expectationWithoutContent() async throws {
        let url = server.route("/", .text("here"))
        for method in ["GET", "POST"] {
            var request = request(method, url)
            request.setValue("100-continue", forHTTPHeaderField: "Expect")
            #expect(try await load(request).0 == Data("here".utf8))
        }
        #expect(server.requests.map { $0.fields["Expect"] } == [nil, nil])
    }

    @Test("Trailers are not among the header fields (RFC 9110 §6.5.1)", arguments: LoadForm.allCases)
    func trailers(form: LoadForm) async throws {
        let url = server.route(
            "/", .text("hello").chunked(trailers: ["X": "y", "Content-Type": "text/html", "Set-Cookie": "a=b"]))
        let outcome = try await form.load(URLRequest(url: url))
        #expect(outcome.body == Data("hello".utf8))
        let response = try #require(outcome.response)
        #expect(response.value(forHTTPHeaderField: "X") == nil)
        #expect(response.value(forHTTPHeaderField: "Set-Cookie") == nil)
        #expect(response.mimeType != "text/html")
    }

    @Test("A 101 without a request for an upgrade is an error (RFC 9110 §15.2.2)")
    func unaskedUpgrade() async throws {
        let url = server.route(
            "/", .raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"))
        let error = await #expect(throws: URLError.self) { _ = try await load(request("GET", url)) }
        #expect(error?.code == .badServerResponse)
    }
}
