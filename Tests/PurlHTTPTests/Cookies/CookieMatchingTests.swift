import PurlHTTP
import Testing

@Suite("Hosts, paths and name prefixes of cookies (RFC 6265bis)")
struct CookieMatchingTests {
    static let domains: [(domain: String, host: String, covers: Bool, rule: String)] = [
        ("a.example", "a.example", true, "§5.1.3, identical"),
        ("a.example", "www.a.example", true, "§5.1.3, a suffix"),
        ("a.example", "x.y.a.example", true, "§5.1.3, a suffix"),
        ("a.example", "ba.example", false, "§5.1.3, after a dot"),
        ("www.a.example", "a.example", false, "§5.1.3, not the other way"),
        ("a.example", "b.example", false, "§5.1.3"),
        ("example", "a.example", false, "§5.7 step 9, a bare top-level name"),
        ("com", "com", true, "§5.7 step 9, itself"),
        ("com.", "a.com.", false, "§5.7 step 9"),
        (".com", "a..com", false, "§5.7 step 9"),
        ("", "a.example", false, "nothing"),
        ("localhost", "localhost", true, "itself"),
        ("localhost", "a.localhost", false, "one label"),
        ("127.0.0.1", "127.0.0.1", true, "§5.1.3, identical"),
        ("0.0.1", "127.0.0.1", false, "§5.1.3, an address has no suffix"),
        ("0.1", "127.0.0.1", false, "§5.1.3"),
        ("0.0.1", "a.0.0.1", false, "§5.1.3"),
        ("127.1", "a.127.1", false, "short forms of addresses"),
        ("a.0x7f", "b.a.0x7f", false, "short forms of addresses"),
        ("::1", "::1", true, "§5.1.3, identical"),
        ("a.example", "fe80::1:a.example", false, "§5.1.3, an address"),
        ("/run/a.sock", "/run/a.sock", true, "a local socket"),
        ("b.sock", "/run/b.sock", false, "a local socket"),
        ("/run/a.sock", "x./run/a.sock", false, "a local socket"),
    ]

    @Test("A domain covers a host (RFC 6265bis §5.1.3)", arguments: domains)
    func domain(domain: String, host: String, covers: Bool, rule: String) {
        #expect(CookieDomain.covers(domain, host: host) == covers, "\(rule)")
    }

    @Test(
        "Hosts are compared in lower case (RFC 6265bis §5.1.2)",
        arguments: [
            ("WWW.Example.COM", "www.example.com"), ("[::1]", "::1"), ("[", "["), ("", ""), ("/run/A", "/run/A"),
        ])
    func canonical(host: String, expected: String) {
        #expect(CookieDomain.canonical(host) == expected)
    }

    static let paths: [(path: String, request: String, covers: Bool)] = [
        ("/", "/", true), ("/", "/a/b", true), ("/a", "/a", true), ("/a", "/a/", true), ("/a", "/a/b", true),
        ("/a/", "/a/", true), ("/a/", "/a/b", true), ("/a", "/ab", false), ("/a/", "/a", false), ("/a", "/", false),
        ("/a", "/A", false), ("/a/b", "/a", false), ("/%61", "/a", false), ("a", "/a", false),
    ]

    @Test("A path covers the path of a request (RFC 6265bis §5.1.4)", arguments: paths)
    func path(path: String, request: String, covers: Bool) {
        #expect(CookiePath.covers(path, request: request) == covers)
    }

    static let standardPaths = [
        ("", "/"), ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("a/b", "/"), ("//", "/"),
    ]

    @Test("A cookie without a path gets the request's (RFC 6265bis §5.1.4)", arguments: standardPaths)
    func standard(request: String, expected: String) {
        #expect(CookiePath.standard(for: request) == expected)
    }

    struct Promise: Sendable {
        var name = ""
        var value = "v"
        var isSecure = true
        var isHostOnly = true
        var path = "/"
    }

    static let promises: [(Promise, isSatisfied: Bool, rule: String)] = [
        (Promise(name: "a", isSecure: false), true, "no promise"),
        (Promise(name: "__Secure-a"), true, "§5.7 step 20"),
        (Promise(name: "__Secure-a", isHostOnly: false, path: "/x"), true, "§5.7 step 20"),
        (Promise(name: "__Secure-a", isSecure: false), false, "§5.7 step 20"),
        (Promise(name: "__SECURE-a", isSecure: false), false, "§5.7 step 20, whatever the case"),
        (Promise(name: "__Host-a"), true, "§5.7 step 21"),
        (Promise(name: "__Host-a", isSecure: false), false, "§5.7 step 21"),
        (Promise(name: "__Host-a", isHostOnly: false), false, "§5.7 step 21"),
        (Promise(name: "__Host-a", path: "/x"), false, "§5.7 step 21"),
        (Promise(name: "__hOST-a", path: "/x"), false, "§5.7 step 21, whatever the case"),
        (Promise(name: "__Hosta", isSecure: false), true, "no promise"),
        (Promise(value: "__Secure-a=v"), false, "§5.7 step 22"),
        (Promise(value: "__host-a"), false, "§5.7 step 22"),
        (Promise(value: "x__host-a", isSecure: false), true, "no promise"),
    ]

    @Test("A cookie meets the restrictions of its name's prefix (RFC 6265bis §4.1.3)", arguments: promises)
    func prefix(promise: Promise, isSatisfied: Bool, rule: String) {
        #expect(
            CookiePrefix.isSatisfied(
                name: promise.name, value: promise.value, isSecure: promise.isSecure, isHostOnly: promise.isHostOnly,
                path: promise.path) == isSatisfied, "\(rule)")
    }
}
