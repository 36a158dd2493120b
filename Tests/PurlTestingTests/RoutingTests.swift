import Foundation
import PurlTesting
import Testing

@Suite("Routes")
struct RoutingTests {
    @Test(
        "A route with the method comes before one without, then the fallback, then 404",
        arguments: [
            ("GET /a", "any a"), ("POST /a", "post a"), ("PUT /a", "any a"), ("GET /a?query", "any a"),
            ("GET http://elsewhere:80/a?b", "any a"), ("GET http://elsewhere", "root"), ("GET /A", "fallback"),
            ("GET /a/", "fallback"), ("GET /%61", "fallback"), ("OPTIONS *", "star"), ("CONNECT host:443", "tunnel"),
            ("DELETE /only-post", "fallback"),
        ])
    func matching(_ line: String, _ body: String) async throws {
        let server = try LoopbackServer()
        server.route("/a", .text("any a"))
        server.route("/a", method: "POST", .text("post a"))
        server.route("/only-post", method: "POST", .text("posted"))
        server.route("/", .text("root"))
        server.route("*", .text("star"))
        server.route("host:443", .text("tunnel"))
        server.fallback(.text("fallback"))
        let client = try RawClient(to: server)
        await client.send("\(line) HTTP/1.1\r\nHost: t\r\n\r\n")
        #expect(String(await client.readResponse().body) == body)
    }

    @Test("A removed route replies 404")
    func removing() async throws {
        let server = try LoopbackServer()
        let url = server.route("/a", .text("a"))
        #expect(url == server.url("/a"))
        server.removeRoute("/a")
        let client = try RawClient(to: server)
        await client.get("/a")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 404 "))
    }
}
