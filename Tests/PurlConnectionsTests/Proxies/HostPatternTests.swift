import Testing

@testable import PurlConnections

@Suite("Patterns for hosts without a proxy")
struct HostPatternTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let pattern: String
        var matches: [String] = []
        var differs: [String] = []

        var testDescription: String { pattern }
    }

    @Test(
        "A pattern matches a host, a domain, an address range, or all hosts",
        arguments: [
            Row(
                pattern: "example.com", matches: ["example.com", "EXAMPLE.com", "www.example.com", "example.com."],
                differs: ["badexample.com", "example.com.evil.org", "example.org", "com"]),
            Row(pattern: "Example.COM", matches: ["example.com"]),
            Row(pattern: ".example.com", matches: ["example.com", "a.b.example.com"], differs: ["badexample.com"]),
            Row(pattern: " example.com. ", matches: ["example.com"]),
            Row(pattern: "*.local", matches: ["printer.local", "a.b.local"], differs: ["local", "printer.local.org"]),
            Row(
                pattern: "build-*.example.*", matches: ["build-1.example.com", "build-.example.org"],
                differs: ["build.example.com", "rebuild-1.example.com"]),
            Row(pattern: "*a*b*", matches: ["ab", "xaybz", "aab"], differs: ["ba", "b", "x"]),
            Row(pattern: "*", matches: ["anything", "127.0.0.1", "::1"]),
            Row(pattern: "localhost", matches: ["localhost"], differs: ["127.0.0.1"]),
            // What the look-up of names takes for the same address.
            Row(
                pattern: "127.0.0.0/8", matches: ["127.1", "2130706433", "0x7f000001", "0177.0.0.1"],
                differs: ["127.1.example", "128.1", "127.1 x"]),
            Row(pattern: "bücher.example", matches: ["xn--bcher-kva.example", "a.xn--bcher-kva.example"]),
            Row(pattern: "*.Bücher.example:81", matches: ["a.xn--bcher-kva.example:81"]),
            Row(pattern: "127.0.0.1", matches: ["127.0.0.1"], differs: ["127.0.0.2", "localhost", "1.127.0.0.1"]),
            Row(pattern: "10.0.0.0/8", matches: ["10.0.0.0", "10.255.1.2"], differs: ["11.0.0.0", "10.example.com"]),
            Row(pattern: "192.168.16.0/20", matches: ["192.168.31.255"], differs: ["192.168.32.0", "192.168.15.255"]),
            Row(pattern: "169.254/16", matches: ["169.254.9.9"], differs: ["169.255.0.0"]),
            Row(pattern: "0.0.0.0/0", matches: ["8.8.8.8"], differs: ["::1", "example.com"]),
            Row(pattern: "1.2.3.4/32", matches: ["1.2.3.4"], differs: ["1.2.3.5"]),
            Row(pattern: "::1", matches: ["::1", "0:0:0:0:0:0:0:1"], differs: ["::2", "0.0.0.1"]),
            Row(pattern: "[::1]", matches: ["::1"]),
            Row(pattern: "fe80::/10", matches: ["fe80::1", "febf::1"], differs: ["fec0::1", "254.128.0.0"]),
            Row(
                pattern: "example.com:8080", matches: ["example.com:8080"], differs: ["example.com", "example.com:80"]),
            Row(pattern: "*.local:80", matches: ["a.local"], differs: ["a.local:81"]),
            Row(pattern: "127.0.0.1:81", matches: ["127.0.0.1:81"], differs: ["127.0.0.1"]),
            Row(pattern: "[::1]:81", matches: ["[::1]:81"], differs: ["::1"]),
        ])
    func patterns(row: Row) throws {
        let pattern = try #require(HostPattern(row.pattern))
        for host in row.matches { #expect(pattern.matches(Self.host(host)), "\(host)") }
        for host in row.differs { #expect(!pattern.matches(Self.host(host)), "\(host)") }
    }

    /// A host, or `host:port`; the port is 80 otherwise.
    private static func host(_ text: String) -> ProxyRules.Host {
        let colons = text.count { $0 == ":" }
        guard colons == 1 || text.hasPrefix("["), let colon = text.lastIndex(of: ":") else {
            return ProxyRules.Host(text, port: 80)
        }
        let name = text[..<colon].filter { $0 != "[" && $0 != "]" }
        return ProxyRules.Host(name, port: UInt16(text[text.index(after: colon)...]) ?? 0)
    }

    @Test(
        "A pattern that can match no host is left out",
        arguments: ["", " ", ".", "..", "a:", "a:0", "a:65536", "a:b", "10.0.0.0/33", "10.0.0.0/-1", "a/8", "::1/129"])
    func nothing(text: String) {
        #expect(HostPattern(text) == nil)
    }
}
