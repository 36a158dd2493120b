import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Which cookies a server may set, and to which URLs they are sent (RFC 6265bis §5.7, §5.8)")
struct CookieAcceptanceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let rule: String
        let url: String
        let line: String
        let other: String
        let sent: String?

        init(_ rule: String, _ line: String, from url: String, to other: String, sends sent: String?) {
            (self.rule, self.url, self.line, self.other, self.sent) = (rule, url, line, other, sent)
        }

        var testDescription: String { "\(rule): \(line) from \(url) to \(other)" }
    }

    static let hosts = [
        Case("§5.7 step 10, host-only", "a=1", from: "http://a.example/", to: "http://a.example/", sends: "a=1"),
        Case("§5.7 step 10, host-only", "a=1", from: "http://a.example/", to: "http://www.a.example/", sends: nil),
        Case("§5.7 step 10, host-only", "a=1", from: "http://www.a.example/", to: "http://a.example/", sends: nil),
        Case("§5.1.2, case", "a=1", from: "http://A.Example/", to: "http://a.eXAMPLE/", sends: "a=1"),
        Case(
            "§5.7 step 10", "a=1; Domain=a.example", from: "http://www.a.example/", to: "http://a.example/",
            sends: "a=1"),
        Case(
            "§5.7 step 10", "a=1; Domain=.A.example", from: "http://www.a.example/", to: "http://x.y.a.example/",
            sends: "a=1"),
        Case(
            "§5.6.3, one leading dot", "a=1; Domain=..a.example", from: "http://www.a.example/",
            to: "http://www.a.example/", sends: nil),
        Case(
            "§5.6.3, one leading dot", "a=1; Domain=..a.example", from: "http://a.example/", to: "http://a.example/",
            sends: nil),
        Case(
            "§5.7 step 10, below", "a=1; Domain=www.a.example", from: "http://a.example/",
            to: "http://www.a.example/", sends: nil),
        Case(
            "§5.7 step 10, beside", "a=1; Domain=b.example", from: "http://a.example/", to: "http://b.example/",
            sends: nil),
        Case(
            "§5.1.3, a suffix that is no domain", "a=1; Domain=example.com", from: "http://badexample.com/",
            to: "http://example.com/", sends: nil),
        Case(
            "§5.7 step 9, top level", "a=1; Domain=com", from: "http://a.com/", to: "http://b.com/", sends: nil),
        Case("§5.7 step 9, top level", "a=1; Domain=com", from: "http://a.com/", to: "http://a.com/", sends: nil),
        Case(
            "§5.7 step 9, itself", "a=1; Domain=localhost", from: "http://localhost/", to: "http://localhost/",
            sends: "a=1"),
        Case(
            "§5.7 step 9, itself alone", "a=1; Domain=localhost", from: "http://localhost/",
            to: "http://a.localhost/", sends: nil),
        Case(
            "§5.1.3, addresses", "a=1; Domain=127.0.0.1", from: "http://127.0.0.1/", to: "http://127.0.0.1/",
            sends: "a=1"),
        Case("§5.1.3, addresses", "a=1; Domain=0.0.1", from: "http://127.0.0.1/", to: "http://1.0.0.1/", sends: nil),
        Case("§5.1.3, addresses", "a=1; Domain=0.0.1", from: "http://127.0.0.1/", to: "http://127.0.0.1/", sends: nil),
        Case("§5.1.3, addresses", "a=1", from: "http://[::1]:81/", to: "http://[::1]:82/", sends: "a=1"),
        Case("§5.1.3, addresses", "a=1; Domain=[::1]", from: "http://[::1]/", to: "http://[::1]/", sends: nil),
        Case(
            "§5.7 step 7, the last one", "a=1; Domain=b.example; Domain=a.example", from: "http://a.example/",
            to: "http://www.a.example/", sends: "a=1"),
        Case(
            "§5.7 step 7, the last one", "a=1; Domain=b.example; Domain=", from: "http://a.example/",
            to: "http://a.example/", sends: "a=1"),
        Case(
            "a local socket", "a=1", from: "http+unix://%2Frun%2FA.s/", to: "http+unix://%2Frun%2FA.s/x", sends: "a=1"),
        Case("a local socket", "a=1", from: "http+unix://%2Frun%2FA.s/", to: "http+unix://%2Frun%2Fa.s/", sends: nil),
        Case("a local socket", "a=1; Domain=s", from: "http+unix://%2Frun%2Fa.s/", to: "http://b.s/", sends: nil),
        Case("§8.5, ports", "a=1", from: "http://a.example:81/", to: "http://a.example:82/", sends: "a=1"),
    ]

    static let paths = [
        Case("§5.1.4, standard", "a=1", from: "http://a.example/x/y", to: "http://a.example/x/z", sends: "a=1"),
        Case("§5.1.4, standard", "a=1", from: "http://a.example/x/y", to: "http://a.example/x", sends: "a=1"),
        Case("§5.1.4, standard", "a=1", from: "http://a.example/x/y", to: "http://a.example/xy", sends: nil),
        Case("§5.1.4, standard", "a=1", from: "http://a.example", to: "http://a.example/x", sends: "a=1"),
        Case("§5.6.4", "a=1; Path=/x", from: "http://a.example/", to: "http://a.example/x?y#z", sends: "a=1"),
        Case("§5.6.4", "a=1; Path=/x", from: "http://a.example/", to: "http://a.example/", sends: nil),
        Case("§5.6.4, elsewhere", "a=1; Path=/x", from: "http://a.example/y/", to: "http://a.example/x", sends: "a=1"),
        Case("§5.6.4, no slash", "a=1; Path=x", from: "http://a.example/y/z", to: "http://a.example/y", sends: "a=1"),
        Case("§5.6.4, empty", "a=1; Path=", from: "http://a.example/y/z", to: "http://a.example/z", sends: nil),
        Case("§5.1.4, target", "a=1; Path=/x", from: "http://a.example/", to: "http://a.example/x/../y", sends: nil),
        Case("§5.1.4, target", "a=1; Path=/x", from: "http://a.example/", to: "http://a.example/y/../x", sends: "a=1"),
        Case("§5.1.4, target", "a=1", from: "http://a.example/y/../x/z", to: "http://a.example/x/", sends: "a=1"),
        Case("§5.1.4, escapes", "a=1; Path=/%61", from: "http://a.example/", to: "http://a.example/a", sends: nil),
        Case("§5.1.4, escapes", "a=1; Path=/%61", from: "http://a.example/", to: "http://a.example/%61", sends: "a=1"),
    ]

    static let secure = [
        Case("§5.7 step 13", "a=1; Secure", from: "http://a.example/", to: "https://a.example/", sends: nil),
        Case("§5.8.3", "a=1; Secure", from: "https://a.example/", to: "https://a.example/", sends: "a=1"),
        Case("§5.8.3", "a=1; Secure", from: "https://a.example/", to: "wss://a.example/", sends: "a=1"),
        Case("§5.8.3", "a=1; Secure", from: "https://a.example/", to: "http://a.example/", sends: nil),
        Case("§5.8.3", "a=1; Secure", from: "https://localhost/", to: "http://localhost/", sends: nil),
        Case("§5.8.3", "a=1", from: "https://a.example/", to: "http://a.example/", sends: "a=1"),
        Case(
            "§5.6.5, whatever the value", "a=1; Secure=1", from: "https://a.example/", to: "http://a.example/",
            sends: nil),
        Case("§5.6.6", "a=1; HttpOnly", from: "http://a.example/", to: "http://a.example/", sends: "a=1"),
        Case("§5.7 step 19", "a=1; SameSite=None", from: "https://a.example/", to: "https://a.example/", sends: nil),
        Case(
            "§5.7 step 19", "a=1; SameSite=None; Secure", from: "https://a.example/", to: "https://a.example/",
            sends: "a=1"),
        Case("§5.6.7", "a=1; SameSite=Strict", from: "http://a.example/", to: "http://a.example/", sends: "a=1"),
        Case("§5.7 step 20", "__Secure-a=1", from: "https://a.example/", to: "https://a.example/", sends: nil),
        Case(
            "§5.7 step 20", "__Secure-a=1; Secure", from: "https://a.example/", to: "https://a.example/",
            sends: "__Secure-a=1"),
        Case(
            "§5.7 step 20", "__Secure-a=1; Secure", from: "http://a.example/", to: "https://a.example/", sends: nil),
        Case(
            "§5.7 step 21", "__Host-a=1; Secure; Path=/", from: "https://a.example/", to: "https://a.example/",
            sends: "__Host-a=1"),
        Case("§5.7 step 21", "__Host-a=1; Secure", from: "https://a.example/", to: "https://a.example/", sends: nil),
        Case(
            "§5.7 step 21", "__Host-a=1; Secure; Path=/; Domain=a.example", from: "https://a.example/",
            to: "https://a.example/", sends: nil),
        Case(
            "§5.7 step 21", "__Host-a=1; Secure; Path=/x", from: "https://a.example/", to: "https://a.example/x",
            sends: nil),
        Case("§5.7 step 21", "__host-a=1; Path=/", from: "https://a.example/", to: "https://a.example/", sends: nil),
    ]

    static let pairs = [
        Case("a line without =", "a", from: "http://a.example/", to: "http://a.example/", sends: nil),
        Case("a line without a name", "=a", from: "http://a.example/", to: "http://a.example/", sends: nil),
        Case("§5.8.3 step 4", "a=", from: "http://a.example/", to: "http://a.example/", sends: "a="),
        Case("§5.8.3 step 4", "a=\"b, c\"", from: "http://a.example/", to: "http://a.example/", sends: "a=\"b, c\""),
        Case("§5.7 step 6", "a=1; Max-Age=0", from: "http://a.example/", to: "http://a.example/", sends: nil),
        Case("§5.7 step 6", "a=1; Max-Age=9", from: "http://a.example/", to: "http://a.example/", sends: "a=1"),
        Case(
            "§5.7 step 6", "a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT", from: "http://a.example/",
            to: "http://a.example/", sends: nil),
        Case(
            "§5.7 step 6, the age counts", "a=1; Max-Age=9; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
            from: "http://a.example/", to: "http://a.example/", sends: "a=1"),
        Case("no host", "a=1", from: "file:///a", to: "http://a.example/", sends: nil),
        Case("no host", "a=1", from: "http://a.example/", to: "file:///a", sends: nil),
    ]

    @Test("The domain and the host of a cookie decide whether it is stored and sent", arguments: hosts)
    func host(row: Case) { check(row) }

    @Test("The path of a cookie decides whether it is sent", arguments: paths)
    func path(row: Case) { check(row) }

    @Test("The security attributes of a cookie decide whether it is stored and sent", arguments: secure)
    func security(row: Case) { check(row) }

    @Test("The pair, age and date of a cookie decide whether it is stored and sent", arguments: pairs)
    func pair(row: Case) { check(row) }

    private func check(_ row: Case) {
        let storage = HTTPCookieStorage()
        storage.receive(row.line, from: row.url)
        #expect(storage.header(for: row.other) == row.sent, "\(row.rule)")
    }

    @Test(
        "Over a plain connection no cookie is set beside a secure one of its name (§5.7 step 16)",
        arguments: [
            ("a=2; Path=/x", "http://a.example/", false), ("a=2; Path=/x/y", "http://a.example/", false),
            ("a=2", "http://www.a.example/x/", false),
            ("a=2; Domain=a.example; Path=/x", "http://www.a.example/", false),
            // A path above, beside, another name, another domain, a secure connection.
            ("a=2", "http://a.example/", true), ("a=2; Path=/y", "http://a.example/", true),
            ("b=2; Path=/x", "http://a.example/", true), ("a=2; Path=/x", "http://b.example/", true),
            ("a=2; Path=/x", "https://a.example/", true),
        ])
    func leavesSecureCookiesAlone(line: String, url: String, isTaken: Bool) {
        let storage = HTTPCookieStorage()
        storage.receive("a=1; Secure; Domain=a.example; Path=/x", from: "https://a.example/")
        storage.receive(line, from: url)
        #expect(storage.cookies?.map(\.value) == (isTaken ? ["1", "2"] : ["1"]))
    }

    @Test("A cookie expires after at most 400 days (§5.6.1, §5.6.2)")
    func longestLife() {
        let clock = StoppedClock()
        let storage = HTTPCookieStorage(clock: clock)
        storage.receive(
            "a=1; Max-Age=999999999999", "b=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", "c=1; Max-Age=34559999",
            from: "http://a.example/")
        #expect(
            storage.cookies?.map { $0.expiresDate } == [
                clock.now + 34_560_000, clock.now + 34_560_000, clock.now + 34_559_999,
            ])
        clock.advance(by: 34_559_999)
        #expect(storage.header(for: "http://a.example/") == "a=1; b=1")
        clock.advance(by: 1)
        #expect(storage.header(for: "http://a.example/") == nil)
        #expect(storage.cookies == [])
    }
}
