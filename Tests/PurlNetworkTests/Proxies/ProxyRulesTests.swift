import Foundation
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("The choice of a proxy for a request")
struct ProxyRulesTests {
    /// The route of a request for a URL: `direct`, the proxy's address with its user, or the reason of the failure.
    private static func route(_ rules: ProxyRules, _ url: String = "http://example.com/file") throws -> String {
        do {
            guard let proxy = try rules.proxy(for: TargetURI(URL(string: url))) else { return "direct" }
            let user = proxy.user.map { "\($0):\(proxy.password ?? "-") at " } ?? ""
            return "\(user)\(proxy.endpoint)"
        } catch let fault as ProxyFault {
            return "\(fault)"
        }
    }

    // MARK: The dictionary

    /// A configuration's dictionary.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let dictionary: @Sendable () -> [AnyHashable: Any]?
        let route: String
        var url = "http://example.com/file"

        init(
            _ description: String, _ dictionary: @autoclosure @escaping @Sendable () -> [AnyHashable: Any]?,
            _ route: String, url: String = "http://example.com/file"
        ) {
            testDescription = description
            self.dictionary = dictionary
            self.route = route
            self.url = url
        }
    }

    static let dictionaries: [Row] = [
        Row("none: the environment's", nil, "environment:80"),
        Row("empty", [:], "direct"),
        Row("enabled", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": 8080], "p:8080"),
        Row("by a Bool", ["HTTPEnable": true, "HTTPProxy": "p", "HTTPPort": 8080], "p:8080"),
        Row("by an NSNumber", ["HTTPEnable": NSNumber(1), "HTTPProxy": "p", "HTTPPort": NSNumber(8080)], "p:8080"),
        Row("by an NSNumber of a Bool", ["HTTPEnable": NSNumber(true), "HTTPProxy": "p"], "p:80"),
        Row("by texts", ["HTTPEnable": "1", "HTTPProxy": "p", "HTTPPort": "8080"], "p:8080"),
        Row("by other integers", ["HTTPEnable": UInt8(1), "HTTPProxy": "p", "HTTPPort": UInt16(8080)], "p:8080"),
        Row("disabled", ["HTTPEnable": 0, "HTTPProxy": "p"], "direct"),
        Row("not enabled", ["HTTPProxy": "p", "HTTPPort": 8080], "direct"),
        Row("enabled for HTTPS only", ["HTTPSEnable": 1, "HTTPSProxy": "p"], "direct"),
        Row("HTTPS", ["HTTPSEnable": 1, "HTTPSProxy": "p", "HTTPSPort": 8080], "p:8080", url: "https://example.com/"),
        Row("wss", ["HTTPSEnable": 1, "HTTPSProxy": "p"], "p:80", url: "wss://example.com/"),
        Row("enabled for HTTP only", ["HTTPEnable": 1, "HTTPProxy": "p"], "direct", url: "https://example.com/"),
        Row(
            "one for each", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPSEnable": 1, "HTTPSProxy": "s"], "s:80",
            url: "https://example.com/"),
        Row(
            "SOCKS beside HTTP", ["HTTPEnable": 1, "HTTPProxy": "p", "SOCKSEnable": 1, "SOCKSProxy": "s"], "s:1080",
            url: "https://example.com/"),
        Row(
            "another kind beside HTTP", ["HTTPEnable": 1, "HTTPProxy": "p", "ProxyAutoConfigEnable": 1],
            "“ProxyAutoConfigEnable” asks for a kind of proxy that Purl does not speak to", url: "https://example.com/"),
        Row(
            "an exception for both", ["HTTPSEnable": 1, "HTTPSProxy": "p", "ExceptionsList": ["example.com:443"]],
            "direct", url: "https://example.com/"),
        Row("the constants", [kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "p"], "p:80"),
        Row("an address", ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1], "127.0.0.1:1"),
        Row("an IPv6 address", ["HTTPEnable": 1, "HTTPProxy": "::1", "HTTPPort": 1], "[::1]:1"),
        Row("a host and port", ["HTTPEnable": 1, "HTTPProxy": "p:3128"], "p:3128"),
        Row("a URL", ["HTTPEnable": 1, "HTTPProxy": "http://P:3128/"], "p:3128"),
        Row("a URL with a user", ["HTTPEnable": 1, "HTTPProxy": "http://me:a%40b@p"], "me:a@b at p:80"),
        Row(
            "a user", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPProxyUsername": "me", "HTTPProxyPassword": "x"],
            "me:x at p:80"),
        Row(
            "a user and a password of digits",
            ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPProxyUsername": 7, "HTTPProxyPassword": NSNumber(83_625_417)],
            "7:83625417 at p:80"),
        Row(
            "a password that is none", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPProxyPassword": ["secret"]],
            "“a list” is not a value for “HTTPProxyPassword”"),
        Row(
            "a URL that is none, with a letter that joins the “@”",
            ["HTTPEnable": 1, "HTTPProxy": "http://me:secret@\u{301}a b"], "“\u{301}a b” names no proxy"),
        Row(
            "a user, in other words",
            ["HTTPEnable": 1, "HTTPProxy": "p", "kCFProxyUsernameKey": "me", "kCFProxyPasswordKey": "x"],
            "me:x at p:80"),
        Row(
            "an exception", ["HTTPEnable": 1, "HTTPProxy": "p", "ExceptionsList": ["other.org", "*.example.com"]],
            "direct", url: "http://www.example.com/"),
        Row(
            "an exception in letters beyond ASCII",
            ["HTTPEnable": 1, "HTTPProxy": "p", "ExceptionsList": ["München.example"]], "direct",
            url: "http://www.münchen.example/"),
        Row(
            "another host than the exception",
            ["HTTPEnable": 1, "HTTPProxy": "p", "ExceptionsList": ["*.example.com"]], "p:80",
            url: "http://example.org/"),
        Row("a simple name", ["HTTPEnable": 1, "HTTPProxy": "p"], "p:80", url: "http://intranet/"),
        Row(
            "a simple name, excluded", ["HTTPEnable": 1, "HTTPProxy": "p", "ExcludeSimpleHostnames": 1], "direct",
            url: "http://intranet/"),
        Row(
            "an address is no simple name", ["HTTPEnable": 1, "HTTPProxy": "p", "ExcludeSimpleHostnames": 1], "p:80",
            url: "http://[::1]/"),
        Row("this machine", ["HTTPEnable": 1, "HTTPProxy": "p"], "p:80", url: "http://127.0.0.1/"),
        Row("a local socket", ["HTTPEnable": 1, "HTTPProxy": "p"], "direct", url: "http+unix://%2Ftmp%2Fs/"),
        Row("no host", ["HTTPEnable": 1], "it is enabled, but its host is missing"),
        Row("an empty host", ["HTTPEnable": 1, "HTTPProxy": ""], "it is enabled, but its host is missing"),
        Row("a host that is none", ["HTTPEnable": 1, "HTTPProxy": 5], "“5” is not a value for “HTTPProxy”"),
        Row("a host with a blank", ["HTTPEnable": 1, "HTTPProxy": "http://"], "“http://” names no proxy"),
        Row("a port out of range", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": 65536], "“65536” is not a port"),
        Row("a negative port", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": -1], "“-1” is not a port"),
        Row(
            "a port in words", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": "x"], "“x” is not a value for “HTTPPort”"
        ),
        Row(
            "a list for a port", ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": [1]],
            "“a list” is not a value for “HTTPPort”"),
        Row(
            "exceptions that are none", ["HTTPEnable": 1, "HTTPProxy": "p", "ExceptionsList": 1],
            "“1” is not a value for “ExceptionsList”"),
        Row(
            "another scheme", ["HTTPEnable": 1, "HTTPProxy": "https://p"],
            "“https” proxies are not supported; Purl speaks to “http” and “socks5” ones"),
        Row("a SOCKS proxy", ["SOCKSEnable": 1, "SOCKSProxy": "p"], "p:1080"),
        Row("a SOCKS proxy with a port", ["SOCKSEnable": 1, "SOCKSProxy": "::1", "SOCKSPort": 99], "[::1]:99"),
        Row("a SOCKS proxy of an interface", ["SOCKSEnable": 1, "SOCKSProxy": "fe80::1%lo"], "[fe80::1%lo]:1080"),
        Row("an HTTP proxy of an interface", ["HTTPEnable": 1, "HTTPProxy": "fe80::1%lo"], "[fe80::1%lo]:80"),
        Row(
            "a SOCKS proxy with a user and a password of digits",
            ["SOCKSEnable": 1, "SOCKSProxy": "p", "SOCKSUser": "u", "SOCKSPassword": 12], "u:12 at p:1080"),
        Row(
            "a SOCKS proxy with a user", ["SOCKSEnable": 1, "SOCKSProxy": "p", "SOCKSUser": "u", "SOCKSPassword": "w"],
            "u:w at p:1080"),
        Row(
            "a SOCKS proxy with CFStream's keys for a user",
            ["SOCKSEnable": 1, "SOCKSProxy": "p", kCFStreamPropertySOCKSUser: "u"], "u:- at p:1080"),
        Row(
            "both kinds", ["SOCKSEnable": 1, "SOCKSProxy": "s", "HTTPEnable": 1, "HTTPProxy": "p"], "p:80"),
        Row(
            "a SOCKS proxy and an exception", ["SOCKSEnable": 1, "SOCKSProxy": "p", "ExceptionsList": ["example.com"]],
            "direct"),
        Row("a SOCKS proxy without a host", ["SOCKSEnable": 1], "it is enabled, but its host is missing"),
        Row("SOCKS without a port", ["SOCKSEnable": 1, "SOCKSProxy": "p", "SOCKSPort": 0], "“0” is not a port"),
        Row(
            "SOCKS 4", ["SOCKSEnable": 1, "SOCKSProxy": "socks4://p"],
            "“socks4” proxies are not supported; Purl speaks to “http” and “socks5” ones"),
        Row(
            "another kind", ["ProxyAutoConfigEnable": 1],
            "“ProxyAutoConfigEnable” asks for a kind of proxy that Purl does not speak to"),
    ]

    @Test("The configuration's dictionary decides on the proxy", arguments: dictionaries)
    func dictionary(row: Row) throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = row.dictionary()
        configuration.proxyVariables = ["http_proxy": "environment"]
        #expect(try Self.route(configuration.snapshot.proxies, row.url) == row.route)
    }

    @Test("connectionProxyDictionary returns the dictionary that was set")
    func reading() throws {
        let configuration = URLSessionConfiguration.ephemeral
        #expect(configuration.connectionProxyDictionary == nil)
        configuration.connectionProxyDictionary = [
            "HTTPEnable": 1, "HTTPProxy": "p", "ExceptionsList": ["a"], "Own": 5,
        ]
        let read = try #require(URLSession(configuration: configuration).configuration.connectionProxyDictionary)
        #expect(read.count == 4)
        #expect(read["HTTPEnable"] as? Int == 1)
        #expect(read["HTTPProxy"] as? String == "p")
        #expect(read["ExceptionsList"] as? [String] == ["a"])
        #expect(read["Own"] as? Int == 5)
    }

    // MARK: The environment

    struct Variables: Sendable, CustomTestStringConvertible {
        let values: [String: String]
        let route: String
        let url: String

        init(_ values: [String: String], _ route: String, url: String = "http://example.com/file") {
            (self.values, self.route, self.url) = (values, route, url)
        }

        var testDescription: String { values.map { "\($0)=\($1)" }.sorted().joined(separator: " ") + " " + url }
    }

    @Test(
        "http_proxy and no_proxy of the environment are used by default, and an empty dictionary switches them off",
        arguments: [
            Variables([:], "direct"),
            Variables(["http_proxy": "http://p:3128"], "p:3128"),
            Variables(["http_proxy": "http://p:3128/"], "p:3128"),
            Variables(["http_proxy": "http://p:3128/path"], "p:3128"),
            Variables(["http_proxy": "p:3128"], "p:3128"),
            Variables(["http_proxy": "p"], "p:80"),
            Variables(["http_proxy": "http://me:a%40b@p"], "me:a@b at p:80"),
            Variables(["http_proxy": "p"], "p:80", url: "ws://example.com/"),
            // Small letters alone: a web server passes its clients' `Proxy` field as HTTP_PROXY.
            Variables(["HTTP_PROXY": "p"], "direct"),
            Variables(["http_proxy": "p", "all_proxy": "r"], "p:80"),
            Variables(["all_proxy": "r"], "r:80"),
            Variables(["all_proxy": "socks5://r"], "r:1080"),
            Variables(["ALL_PROXY": "SOCKS5h://me:a%40b@[::1]:99/"], "me:a@b at [::1]:99"),
            Variables(["all_proxy": "socks5://"], "“socks5://” names no proxy"),
            Variables(["ALL_PROXY": "r"], "r:80"),
            Variables(["all_proxy": "r", "ALL_PROXY": "s"], "r:80"),
            Variables(["http_proxy": ""], "direct"),
            Variables(["http_proxy": "", "all_proxy": "r"], "r:80"),
            Variables(["https_proxy": "p"], "direct"),
            Variables(["https_proxy": "p"], "p:80", url: "https://example.com/"),
            Variables(["https_proxy": "p"], "p:80", url: "wss://example.com/"),
            Variables(["HTTPS_PROXY": "p"], "p:80", url: "https://example.com/"),
            Variables(["https_proxy": "p", "HTTPS_PROXY": "q"], "p:80", url: "https://example.com/"),
            Variables(["all_proxy": "r", "https_proxy": "p"], "p:80", url: "https://example.com/"),
            Variables(["all_proxy": "r"], "r:80", url: "https://example.com/"),
            Variables(["http_proxy": "p"], "direct", url: "https://example.com/"),
            Variables(["https_proxy": "p", "no_proxy": "example.com"], "direct", url: "https://example.com/"),
            Variables(["http_proxy": "p", "no_proxy": "*"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "a.org, example.com,b.org"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "a.org EXAMPLE.COM"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": ".com"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "com"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "ample.com"], "p:80"),
            Variables(["http_proxy": "p", "no_proxy": "example.com."], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "10.0.0.0/8"], "direct", url: "http://10.1.2.3/"),
            Variables(["http_proxy": "p", "no_proxy": "example.com:80"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "example.com:81"], "p:80"),
            Variables(["http_proxy": "p", "no_proxy": "example.org,,:,/"], "p:80"),
            Variables(["http_proxy": "p", "NO_PROXY": "example.com"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "", "NO_PROXY": "example.com"], "direct"),
            Variables(["http_proxy": "p", "no_proxy": "example.org", "NO_PROXY": "example.com"], "p:80"),
            Variables(
                ["http_proxy": "socks4://p"],
                "“socks4” proxies are not supported; Purl speaks to “http” and “socks5” ones"),
            Variables(["http_proxy": "http://me:secret@"], "“” names no proxy"),
            Variables(["http_proxy": "p:99999"], "“p:99999” names no proxy"),
            Variables(["http_proxy": "a b c"], "“a b c” names no proxy"),
        ])
    func environment(row: Variables) throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.proxyVariables = row.values
        #expect(try Self.route(configuration.snapshot.proxies, row.url) == row.route)
        configuration.connectionProxyDictionary = [:]
        #expect(try Self.route(configuration.snapshot.proxies, row.url) == "direct")
    }

    @Test(
        "The environment's proxy is never used for this machine",
        arguments: [
            ("localhost", true), ("LOCALHOST.", true), ("a.localhost", true), ("127.0.0.1", true), ("127.1.2.3", true),
            ("127.1", true), ("0x7f000001", true), ("[::1]", true), ("[::ffff:127.0.0.1]", true), ("128.0.0.1", false),
            ("[::2]", false),
            ("notlocalhost", false), ("localhost.example.com", false),
        ])
    func thisMachine(host: String, isDirect: Bool) throws {
        let rules = ProxyRules(environment: ["http_proxy": "broken:99999"])
        let route = try Self.route(rules, "http://\(host):8080/file")
        #expect(route == (isDirect ? "direct" : "“broken:99999” names no proxy"))
    }
}
