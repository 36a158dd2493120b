import Foundation
import Testing

@testable import Purl
@testable import PurlHTTP
@testable import SessionFixtures

/// Which request follows a redirect, without a connection (RFC 9110 §15.4).
@Suite("The request after a redirect")
struct RedirectRuleTests {
    private func next(
        _ status: Int, from url: String = "http://a.example/x", to location: String, method: String = "GET",
        fields: [String: String] = [:]
    ) throws -> URLRequest? {
        var request = URLRequest(url: URL(string: url)!)
        request.httpMethod = method
        request.allHTTPHeaderFields = fields
        if method == "POST" { request.httpBody = Data("body".utf8) }
        let head = ResponseHead(status: status, fields: ["Location": location])
        return try Redirect.next(after: request, at: URL(string: url)!, response: head)
    }

    static let methods: [(status: Int, method: String, next: String?)] = [
        (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (307, "GET", "GET"), (308, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
        (301, "HEAD", "HEAD"),
        (300, "GET", nil), (304, "GET", nil), (305, "GET", nil), (200, "GET", nil),
    ]

    @Test("Status and method decide on the next method", arguments: methods)
    func method(status: Int, method: String, expected: String?) throws {
        #expect(try next(status, to: "/y", method: method)?.httpMethod == expected)
    }

    @Test("The body is sent again when the method is kept")
    func body() throws {
        #expect(try next(307, to: "/y", method: "POST")?.httpBody == Data("body".utf8))
        #expect(try next(303, to: "/y", method: "POST")?.httpBody == nil)
    }

    static let locations: [(from: String, location: String, to: String)] = [
        ("http://a.example/x/y", "/z", "http://a.example/z"),
        ("http://a.example/x/y", "z?q", "http://a.example/x/z?q"),
        ("http://a.example/x", "//b.example/z", "http://b.example/z"),
        ("http://a.example/x", "http://b.example:81/z", "http://b.example:81/z"),
        ("http://a.example/x#part", "/z", "http://a.example/z#part"),
        ("http://a.example/x#part", "/z#other", "http://a.example/z#other"),
        ("ws://a.example/x", "http://b.example/z", "ws://b.example/z"),
    ]

    @Test("A location is resolved against the URL", arguments: locations)
    func location(from: String, location: String, to: String) throws {
        #expect(try next(302, from: from, to: location)?.url?.absoluteString == to)
    }

    static let origins: [(from: String, to: String, keepsCredentials: Bool)] = [
        ("http://a.example/x", "http://a.example/y", true),
        ("http://a.example/x", "http://A.EXAMPLE:80/y", true),
        ("http://a.example/x", "http://b.example/y", false),
        ("http://a.example/x", "http://a.example:81/y", false),
        ("http://a.example/x", "https://a.example/y", false),
        ("http+unix://%2Frun%2FA.s/x", "http+unix://%2Frun%2FA.s/y", true),
        ("http+unix://%2Frun%2FA.s/x", "//%2Frun%2FA.s/y", true),
    ]

    @Test("Credentials are kept within an origin only", arguments: origins)
    func credentials(from: String, to: String, keepsCredentials: Bool) throws {
        let fields = ["Authorization": "Basic eDp5", "Cookie": "a=b", "Accept": "text/plain"]
        let request = try next(302, from: from, to: to, fields: fields)
        #expect((request?.value(forHTTPHeaderField: "Authorization") != nil) == keepsCredentials)
        #expect((request?.value(forHTTPHeaderField: "Cookie") != nil) == keepsCredentials)
        #expect(request?.value(forHTTPHeaderField: "Accept") == "text/plain")
    }

    @Test(
        "A redirect to a Unix-domain socket is refused, except from the same one",
        arguments: ["http://a.example/x", "http+unix://%2Frun%2Fa.s/x", "http+unix://%2Frun%2FA.s:80/x"],
        ["http+unix://%2Frun%2FA.s/y", "http+unix://%2Frun%2FA.s:80/y"])
    func localSocket(from: String, to: String) {
        #expect(throws: Redirect.Fault.self) { try next(302, from: from, to: to) }
    }
}
