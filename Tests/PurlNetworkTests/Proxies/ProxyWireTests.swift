import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Requests through a proxy", .timeLimit(.minutes(5)))
struct ProxyWireTests {
    private let sandbox = Sandbox()
    private static let defaults = "Accept: */*\r\nAccept-Encoding: gzip, deflate\r\nUser-Agent: Purl/1.0\r\n"

    @Test(
        "A request to a proxy has the absolute URL, and the server's Host",
        arguments: [
            ("http://example.com", "http://example.com/", "example.com"),
            ("http://example.com/a%20b?c=d#e", "http://example.com/a%20b?c=d", "example.com"),
            ("http://EXAMPLE.com:80/file", "http://EXAMPLE.com/file", "EXAMPLE.com"),
            ("http://example.com:8080/file", "http://example.com:8080/file", "example.com:8080"),
            ("http://me:secret@example.com/file", "http://example.com/file", "example.com"),
            ("http://[::1]:8080/file", "http://[::1]:8080/file", "[::1]:8080"),
        ])
    func bytes(url: String, target: String, host: String) async throws {
        let seen = LockedValue("")
        let listener = try await RawListener.started { peer in
            let head = await peer.head() ?? ""
            seen.withLock { $0 = head }
            peer.send("HTTP/1.1 204 No Content\r\n\r\n")
            _ = await peer.rest()
        }
        let outcome = try await LoadForm.dataDelegate.load(try #require(URL(string: url))) {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1:\(listener.port)"]
        }
        outcome.expectSuccess(Data())
        #expect(seen.withLock { $0 } == "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\(Self.defaults)\r\n")
    }

    @Test("A request through a proxy delivers the server's response in every form", arguments: LoadForm.allCases)
    func forms(form: LoadForm) async throws {
        let proxy = try LoopbackServer()
        proxy.route("/file", .text("content"))
        let url = try #require(URL(string: "http://example.invalid/file"))
        let outcome = try await form.load(url) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        outcome.expectSuccess(Data("content".utf8))
        #expect(outcome.response?.url == url)
        #expect(proxy.requests.map(\.target) == ["http://example.invalid/file"])
    }

    @Test("Requests for several servers share a connection to the proxy")
    func sharing() async throws {
        let proxy = try LoopbackServer()
        proxy.route("/file", .text("content"))
        let session = sandbox.session { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        for host in ["one.invalid", "two.invalid:81", "127.0.0.1"] {
            _ = try await session.data(from: try #require(URL(string: "http://\(host)/file")))
        }
        #expect(proxy.requests.map(\.fields["Host"]) == ["one.invalid", "two.invalid:81", "127.0.0.1"])
        #expect(proxy.acceptedConnections == 1)
    }

    @Test("Excepted hosts and Unix-domain sockets are reached without the proxy")
    func exceptions() async throws {
        let proxy = try LoopbackServer()
        let server = try LoopbackServer()
        server.route("/file", .text("direct"))
        let local = try LoopbackServer(.unix(path: sandbox.file("socket").path))
        local.route("/file", .text("local"))
        let session = sandbox.session {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy, ["ExceptionsList": ["127.0.0.1:\(server.port)"]])
        }
        #expect(try await session.data(from: server.url("/file")).0 == Data("direct".utf8))
        #expect(try await session.data(from: local.url("/file")).0 == Data("local".utf8))
        #expect(proxy.requests == [])
        #expect(server.requests.map(\.target) == ["/file"])
    }

    @Test("Each redirect uses the proxy rules for its host")
    func redirects() async throws {
        let proxy = try LoopbackServer()
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        proxy.route("/start", .redirect(to: "/middle"))
        proxy.route("/middle", .redirect(to: server.url("/end").absoluteString))
        let outcome = try await LoadForm.dataAsync.load(try #require(URL(string: "http://one.invalid/start"))) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy, ["ExceptionsList": ["127.0.0.1"]])
        }
        outcome.expectSuccess(Data("end".utf8))
        #expect(proxy.requests.map(\.target) == ["http://one.invalid/start", "http://one.invalid/middle"])
        #expect(server.requests.map(\.target) == ["/end"])
    }

    @Test("Cookies through a proxy are those of the server")
    func cookies() async throws {
        let proxy = try LoopbackServer()
        proxy.route("/file", .text("content").field("Set-Cookie", "a=b"))
        let session = sandbox.session { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        for host in ["one.invalid", "one.invalid", "two.invalid"] {
            _ = try await session.data(from: try #require(URL(string: "http://\(host)/file")))
        }
        #expect(proxy.requests.map(\.fields["Cookie"]) == [nil, "a=b", nil])
    }

    @Test("A request through a proxy sends its body")
    func upload() async throws {
        let proxy = try LoopbackServer()
        proxy.route("/place", .text("thanks"))
        let session = sandbox.session { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        var request = URLRequest(url: try #require(URL(string: "http://one.invalid/place")))
        request.httpMethod = "PUT"
        _ = try await session.upload(for: request, from: Data("content".utf8))
        #expect(proxy.requests.map(\.body) == [Data("content".utf8)])
    }

    @Test("An unreachable proxy is named in the error", arguments: LoadForm.allCases)
    func unreachable(form: LoadForm) async throws {
        let port = try DeadPort()
        let url = try #require(URL(string: "http://example.invalid/file"))
        let outcome = try await form.load(url) { $0.connectionProxyDictionary = Proxy.dictionary(port: port.number) }
        outcome.expectFailure(.cannotConnectToHost, at: url)
        #expect(outcome.sentence.hasPrefix("The proxy “127.0.0.1:\(port.number)” cannot be reached: "))
    }

    @Test("An invalid proxy configuration is named in the error", arguments: LoadForm.allCases)
    func fault(form: LoadForm) async throws {
        let url = try #require(URL(string: "http://example.invalid/file"))
        let outcome = try await form.load(url) {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": 70_000]
        }
        outcome.expectFailure(.cannotConnectToHost, at: url)
        #expect(outcome.sentence == "The proxy cannot be used: “70000” is not a port.")
    }
}
