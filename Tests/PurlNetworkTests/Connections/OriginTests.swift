import Foundation
import PurlHTTP
import PurlIO
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("Origin")
struct OriginTests {
    /// Two URLs, and whether credentials may go from one to the other.
    struct Pair: Sendable, CustomTestStringConvertible {
        let one: String
        let other: String
        let isSame: Bool

        var testDescription: String { "\(one) \(isSame ? "=" : "≠") \(other)" }

        init(_ one: String, _ other: String, _ isSame: Bool) {
            (self.one, self.other, self.isSame) = (one, other, isSame)
        }
    }

    static let pairs = [
        Pair("http://a/", "http://a/other?query#fragment", true),
        Pair("http://a", "http://a/", true),
        Pair("http://user:password@a/", "http://a/", true),
        // Letter case.
        Pair("HTTP://A/", "http://a/", true),
        Pair("http://a/A", "http://a/a", true),
        Pair("http://ex%61mple/", "http://example/", true),
        // Hosts.
        Pair("http://a/", "http://b/", false),
        Pair("http://a/", "http://a./", false),
        Pair("http://a/", "http://www.a/", false),
        Pair("http://127.0.0.1/", "http://localhost/", false),
        Pair("http://[::1]/", "http://[::1]:80/", true),
        Pair("http://[fe80::A]/", "http://[fe80::a]/", true),
        Pair("http://[::1]/", "http://[::2]/", false),
        // Ports.
        Pair("http://a/", "http://a:80/", true),
        Pair("http://a:/", "http://a/", true),
        Pair("http://a/", "http://a:8080/", false),
        Pair("http://a:8080/", "http://a:8081/", false),
        Pair("https://a/", "https://a:443/", true),
        Pair("https://a/", "https://a:80/", false),
        Pair("ws://a/", "ws://a:80/", true),
        Pair("wss://a/", "wss://a:443/", true),
        Pair("wss://a/", "wss://a:80/", false),
        // Schemes.
        Pair("http://a/", "https://a/", false),
        Pair("http://a:443/", "https://a/", false),
        Pair("http://a/", "ws://a/", false),
        Pair("http://a/", "http+unix://a/", false),
        Pair("other://a/", "other://a/x", true),
        Pair("other://a/", "OTHER://A/", true),
        Pair("other://a/", "other://a:1/", false),
        Pair("other://a/", "http://a/", false),
        Pair("other:a", "other:b", true),
        Pair("other:a", "another:a", false),
        // Sockets of this machine: a path's letter case counts.
        Pair("http+unix://%2Frun%2Fa.s/x", "http+unix://%2Frun%2Fa.s/y", true),
        Pair("http+unix://%2frun%2fa.s/", "http+unix://%2Frun%2Fa.s/", true),
        Pair("HTTP+UNIX://%2Frun%2Fa.s/", "http+unix://%2Frun%2Fa.s/", true),
        Pair("http+unix://%2Frun%2FA.s/", "http+unix://%2Frun%2Fa.s/", false),
        Pair("http+unix://%2Frun%2Fa.s/", "http+unix://%2Frun%2Fb.s/", false),
        // Such a socket has no port: this is another server's URL, or none's.
        Pair("http+unix://%2Frun%2FA.s:80/", "http+unix://%2Frun%2FA.s/", false),
        Pair("http+unix://%2Frun%2FA.s:80/", "http+unix://%2Frun%2FA.s:80/", false),
        Pair("http+unix://%2Frun%2FA.s%3A80/", "http+unix://%2Frun%2FA.s/", false),
        Pair("http+unix://%2Frun%2FA.s%3A80/", "http+unix://%2Frun%2FA.s%3a80/", true),
        Pair("http+unix://me:secret@%2Frun%2FA.s/", "http+unix://%2Frun%2FA.s/", true),
        // What cannot be read has no origin, and nothing in common with anything.
        Pair("http+unix://run/", "http+unix://run/", false),
        Pair("relative", "relative", false),
    ]

    @Test("Two URLs have the same origin when scheme, host and port are equal", arguments: pairs)
    func isSame(pair: Pair) throws {
        let one = try #require(URL(string: pair.one))
        let other = try #require(URL(string: pair.other))
        #expect(one.isSameOrigin(as: other) == pair.isSame)
        #expect(other.isSameOrigin(as: one) == pair.isSame)
    }

    @Test(
        "A URL's origin is that of the request to it",
        arguments: [
            "http://a/", "http://user@A:8080/x?y", "http://[::1]:81/", "ws://a", "http+unix://%2Frun%2FA.s/x",
            "http://[fe80::1%25eth0]/",
        ])
    func isThatOfTheRequest(url: String) throws {
        let url = try #require(URL(string: url))
        #expect(try Origin(url) == TargetURI(url).origin)
    }

    @Test(
        "A host whose decoded text would mean another host elsewhere cannot be read",
        arguments: [
            "evil.test%25.bank.test", "evil.test%2F.bank.test", "evil.test%23.bank.test", "evil.test%3F.bank.test",
            "me%40bank.test", "bank.test%3A81", "bank.test%00", "bank.test%0D%0A", "bank%20test", "%5B::1%5D",
            "[bank.test%25a]", "[::1%25]", "[::1%25a%2F]", "[::1%2F]",
        ])
    func unreadable(host: String) {
        #expect(Origin("https://\(host)/") == nil)
    }

    @Test(
        "The name that a certificate has to have is the host without its last dot, or an address without its scope",
        arguments: [
            ("https://bank.test/", "bank.test"), ("https://bank.test./", "bank.test"), ("https://[::1]/", "::1"),
            ("https://[fe80::1%25eth0]/", "fe80::1"), ("https://b%61nk.test/", "bank.test"),
        ])
    func certificateName(url: String, name: String) throws {
        let origin = try #require(URL(string: url).flatMap { Origin($0) })
        #expect(SecureServer(origin).name == name)
    }
}

@Suite("The CONNECT request of a tunnel")
struct TunnelTests {
    private static let head = RequestHead(
        method: "GET", target: "/path",
        fields: [.host: "a", .userAgent: "agent", .proxyAuthorization: "Basic eQ==", .authorization: "Basic eA=="])

    @Test(
        "The request target and Host name the server and its port",
        arguments: [
            ("ws://a/path", "a:80"), ("ws://A:8080/", "a:8080"), ("tcp://[::1]:22", "[::1]:22"), ("wss://a/", "a:443"),
            // RFC 6874 §4
            ("ws://[fe80::1%25lo]:82/", "[fe80::1]:82"),
        ])
    func namesTheServer(url: String, authority: String) throws {
        let origin = try #require(URL(string: url).flatMap { Origin($0) })
        let request = try #require(Tunnel(to: origin.endpoint)).request(for: Self.head)
        #expect(request.method == "CONNECT")
        #expect(request.target == authority)
        #expect(request.fields[.host] == authority)
    }

    @Test("CONNECT carries only the fields for the proxy")
    func carriesWhatConcernsTheProxy() throws {
        let tunnel = try #require(Tunnel(to: .host("a", port: 80)))
        let request = tunnel.request(for: Self.head)
        #expect(request.fields.map { $0.name.lowercased() } == ["host", "user-agent", "proxy-authorization"])
        #expect(request.fields[.proxyAuthorization] == "Basic eQ==")
    }

    @Test("CONNECT is not sent for a Unix-domain socket")
    func leadsToNoLocalSocket() {
        #expect(Tunnel(to: .unix(path: "/run/a.s")) == nil)
    }

    @Test("Any status of success opens the tunnel", arguments: [(200, true), (204, true), (101, false), (407, false)])
    func isGranted(status: Int, isOpen: Bool) {
        #expect(Tunnel.isOpen(after: status) == isOpen)
    }
}
