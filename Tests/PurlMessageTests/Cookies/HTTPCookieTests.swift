import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("HTTPCookie")
struct HTTPCookieTests {
    @Test(
        "A cookie is made from its properties",
        arguments: [
            ([.name: "a", .value: "v", .path: "/", .domain: "A.Example"], "a.example"),
            ([.name: "a", .value: "v", .path: "/", .domain: ".a.example"], ".a.example"),
            ([.name: "a", .value: "v", .path: "/", .originURL: "http://a.example/x"], "a.example"),
            ([.name: "a", .value: "v", .path: "/", .originURL: "http://b.example", .domain: "a.example"], "a.example"),
            ([.name: "", .value: "v", .path: "/", .domain: "a.example"], "a.example"),
            ([.name: "a", .value: "", .path: "/", .domain: "a.example"], "a.example"),
        ] as [([HTTPCookiePropertyKey: String], String)])
    func made(properties: [HTTPCookiePropertyKey: String], domain: String) throws {
        let cookie = try #require(HTTPCookie(properties: properties))
        #expect(cookie.name == properties[.name])
        #expect(cookie.value == properties[.value])
        #expect(cookie.domain == domain)
        #expect(cookie.path == "/")
        #expect(cookie.version == 0)
        #expect(cookie.isSessionOnly)
        #expect(cookie.expiresDate == nil)
        #expect(!cookie.isSecure)
        #expect(!cookie.isHTTPOnly)
        #expect(cookie.sameSitePolicy == nil)
        #expect(cookie.comment == nil)
        #expect(cookie.commentURL == nil)
        #expect(cookie.portList == nil)
    }

    @Test(
        "No cookie is made when a required property is missing, or one is invalid that is sent or limits the servers",
        arguments: [
            [.value: "v", .path: "/", .domain: "a.example"], [.name: "a", .path: "/", .domain: "a.example"],
            [.name: "a", .value: "v", .domain: "a.example"], [.name: "a", .value: "v", .path: "/"],
            [.name: "a", .value: "v", .path: "/", .domain: ""],
            [.name: "", .value: "", .path: "/", .domain: "a.example"],
            [.name: "a", .value: "v", .path: "/", .originURL: "file:///x"],
            [.name: "a=b", .value: "v", .path: "/", .domain: "a.example"],
            [.name: "a;b", .value: "v", .path: "/", .domain: "a.example"],
            [.name: "a", .value: "v;w", .path: "/", .domain: "a.example"],
            [.name: "a", .value: "v\r\nX: y", .path: "/", .domain: "a.example"],
            [.name: "a\0", .value: "v", .path: "/", .domain: "a.example"],
            [.name: "a", .value: "v", .path: "/\n", .domain: "a.example"],
            [.name: "a", .value: "v", .path: "/", .domain: "a.example", .port: "http"],
            [.name: "a", .value: "v", .path: "/", .domain: "a.example", .port: "70000"],
        ] as [[HTTPCookiePropertyKey: String]])
    func refused(properties: [HTTPCookiePropertyKey: String]) {
        #expect(HTTPCookie(properties: properties) == nil)
    }

    @Test(
        "A date, an age, a version or one of several ports that cannot be read is left out",
        arguments: [
            ([.expires: "soon"], 0, nil), ([.version: "2"], 0, nil), ([.version: "x", .maximumAge: "60"], 0, nil),
            ([.version: "1", .maximumAge: "long"], 1, nil), ([.version: "1", .maximumAge: "5.5"], 1, nil),
            ([.port: "x,443"], 0, [443]), ([.version: "1", .port: "80,x,8080"], 1, [80, 8080]),
        ] as [([HTTPCookiePropertyKey: String], Int, [NSNumber]?)])
    func leftOut(properties: [HTTPCookiePropertyKey: String], version: Int, ports: [NSNumber]?) throws {
        let cookie = try #require(HTTPCookie.made("a", properties))
        #expect(cookie.version == version)
        #expect(cookie.expiresDate == nil)
        #expect(cookie.portList == ports)
    }

    @Test("Values may be strings, substrings, numbers, dates and URLs")
    func kindsOfValues() throws {
        let date = Date(timeIntervalSince1970: 1_900_000_000)
        let url = try #require(URL(string: "http://a.example/why"))
        let cookie = try #require(
            HTTPCookie(properties: [
                .name: "name".dropFirst(2), .value: NSString(string: "v"), .path: "/".prefix(1), .originURL: url,
                .version: 0, .expires: date, .secure: true, .port: 443, .comment: "why", .commentURL: url,
                .sameSitePolicy: HTTPCookieStringPolicy.sameSiteLax,
            ]))
        #expect(cookie.name == "me")
        #expect(cookie.expiresDate == date)
        #expect(cookie.isSecure)
        #expect(cookie.portList == [443])
        #expect(cookie.comment == "why")
        #expect(cookie.commentURL == url)
        #expect(cookie.sameSitePolicy == .sameSiteLax)
        let text = HTTPCookie.made("a", [.expires: "Wed, 18-Mar-2030 05:33:20 GMT", .secure: "FALSE"])
        #expect(text?.expiresDate == Date(timeIntervalSince1970: 1_900_042_400))
        #expect(text?.isSecure == false)
    }

    @Test("Version 0 uses the date and one port; version 1 uses the age, and without one is a session cookie")
    func versions() throws {
        let date = Date(timeIntervalSince1970: 1_900_000_000)
        let old = try #require(HTTPCookie.made("a", [.expires: date, .maximumAge: "60", .port: "443,8443"]))
        #expect(old.expiresDate == date)
        #expect(old.portList == [443])
        let before = Date()
        let new = try #require(
            HTTPCookie.made("a", [.version: "1", .expires: date, .maximumAge: "60", .port: "443, 8443"]))
        let expiry = try #require(new.expiresDate)
        #expect(before + 60 <= expiry && expiry <= Date() + 60)
        #expect(new.portList == [443, 8443])
        #expect(HTTPCookie.made("a", [.version: "1", .expires: date])?.isSessionOnly == true)
        let discarded = try #require(HTTPCookie.made("a", [.expires: date, .discard: "TRUE"]))
        #expect(discarded.isSessionOnly)
        #expect(discarded.expiresDate == nil)
    }

    @Test(
        "A cookie can be made with a date or an age out of range, which becomes the last date",
        arguments: [1e300, .infinity, -1e300])
    func farDates(seconds: Double) throws {
        let cookie = try #require(HTTPCookie.made("a", [.expires: Date(timeIntervalSince1970: seconds)]))
        #expect(!cookie.description.isEmpty)
        let age = try #require(HTTPCookie.made("a", [.version: "1", .maximumAge: String(Int64.max)]))
        #expect(age.expiresDate == Date(timeIntervalSince1970: 253_402_300_799))
    }

    @Test("A cookie made from a cookie's properties is equal to it")
    func properties() throws {
        let cookies = [
            HTTPCookie.made("a"), HTTPCookie.made("", [.domain: ".a.example", .secure: "TRUE"]),
            HTTPCookie.made(
                "a", [.version: "1", .maximumAge: "60", .port: "1,2", .comment: "c", .commentURL: "http://c/"]),
            HTTPCookie.made("a", [.expires: Date(timeIntervalSince1970: 0.5), .sameSitePolicy: "Strict"]),
        ].compactMap { $0 }
        #expect(cookies.count == 4)
        let url = try #require(URL(string: "https://a.example/x/y"))
        let received = HTTPCookie.cookies(
            withResponseHeaderFields: ["set-cookie": "a=b; HttpOnly; Secure; SameSite=Lax; Max-Age=60"], for: url)
        #expect(received.count == 1)
        for cookie in cookies + received {
            let again = HTTPCookie(properties: try #require(cookie.properties))
            #expect(again == cookie)
            #expect(again?.hash == cookie.hash)
            #expect(Set([cookie, try #require(again)]).count == 1)
        }
    }

    @Test(
        "Cookies that differ in one property are not equal",
        arguments: [
            [.value: "w"], [.domain: ".a.example"], [.path: "/x"], [.secure: "TRUE"], [.port: "80"],
            [.expires: "Wed, 18-Mar-2030 05:33:20 GMT"], [.sameSitePolicy: "lax"], [.comment: "c"], [.version: "1"],
        ] as [[HTTPCookiePropertyKey: String]])
    func equality(change: [HTTPCookiePropertyKey: String]) {
        #expect(HTTPCookie.made("a", change) != nil)
        #expect(HTTPCookie.made("a", change) != HTTPCookie.made("a"))
        #expect(HTTPCookie.made("a") == HTTPCookie.made("a"))
    }

    @Test("Cookies are sent in one Cookie field, and without cookies there is none")
    func requestFields() throws {
        let cookies = [HTTPCookie.made("a"), HTTPCookie.made(""), HTTPCookie.made("b", [.value: ""])].compactMap { $0 }
        #expect(HTTPCookie.requestHeaderFields(with: cookies) == ["Cookie": "a=v; v; b="])
        #expect(HTTPCookie.requestHeaderFields(with: []) == [:])
    }

    @Test("Cookies are read from Set-Cookie fields, joined lines included")
    func responseFields() throws {
        let url = try #require(URL(string: "http://www.a.example/x/y"))
        let cookies = HTTPCookie.cookies(
            withResponseHeaderFields: [
                "Content-Type": "text/plain", "Cookie": "no=1",
                "sEt-cookie": "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT, b=2; Domain=A.example; Path=/; HttpOnly, "
                    + "c=3; Domain=localhost; Path=x, d=4; Domain=b.example; Secure; SameSite=Strict",
            ], for: url)
        #expect(cookies.map(\.name) == ["a", "b", "c", "d"])
        #expect(cookies.map(\.domain) == ["www.a.example", ".a.example", ".localhost", ".b.example"])
        #expect(cookies.map(\.path) == ["/x", "/", "/x", "/x"])
        #expect(cookies.map(\.isHTTPOnly) == [false, true, false, false])
        #expect(cookies.map(\.isSecure) == [false, false, false, true])
        #expect(cookies.map(\.sameSitePolicy) == [nil, nil, nil, .sameSiteStrict])
        #expect(cookies.map(\.version) == [0, 0, 0, 0])
        #expect(cookies[0].expiresDate == Date(timeIntervalSince1970: 3_023_335_680))
        #expect(HTTPCookie.cookies(withResponseHeaderFields: [:], for: url).isEmpty)
        #expect(
            HTTPCookie.cookies(
                withResponseHeaderFields: ["Set-Cookie": "a=1"], for: URL(fileURLWithPath: "/x")
            ).isEmpty)
    }

    @Test(
        "A field without a name or without = sets no cookie",
        arguments: ["a", "=1", "  =1; a=b", "; a=b", "", "a; b=c"])
    func noCookie(field: String) throws {
        let url = try #require(URL(string: "http://a.example/"))
        #expect(HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url).isEmpty)
    }

    @Test("Several cookies on lines of one field are read, with Comment, CommentURL and Secure=1")
    func linesOfOneField() throws {
        let url = try #require(URL(string: "http://a.example/"))
        let field = """
            a=1; Expires=Wed, 01 Jan 2070 12:30:00 GMT; Domain=a.example; Secure=1,
            b=2; Comment=why; CommentURL=http://a.example/b c
            c=3; Comment; CommentURL; Domain=..a.example
            """
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url)
        #expect(cookies.map(\.name) == ["a", "b", "c"])
        #expect(cookies.map(\.isSecure) == [true, false, false])
        #expect(cookies.map(\.comment) == [nil, "why", nil])
        #expect(cookies.map(\.commentURL?.absoluteString) == [nil, "http://a.example/b%20c", nil])
        #expect(cookies.map(\.domain) == [".a.example", "a.example", "..a.example"])
    }

    @Test(
        "The description of a cookie has Foundation's form",
        arguments: [
            (
                [:],
                "expiresDate:nil sessionOnly:true domain:\"a.example\" path:\"/\" isSecure:false comment:nil ports:{ 0 }"
            ),
            (
                [.port: "80", .comment: "c c", .secure: "TRUE", .expires: "Wed, 18-Mar-2030 05:33:20 GMT"],
                "expiresDate:2030-03-18 05:33:20 +0000 sessionOnly:false domain:\"a.example\" path:\"/\" isSecure:true "
                    + "comment:c c ports:{ 80 }"
            ),
            (
                [.version: "1", .port: "80,81", .sameSitePolicy: "lax"],
                "expiresDate:nil sessionOnly:true domain:\"a.example\" path:\"/\" isSecure:false comment:nil "
                    + "ports:{ 80,81 }"
            ),
        ] as [([HTTPCookiePropertyKey: String], String)])
    func description(changes: [HTTPCookiePropertyKey: String], rest: String) throws {
        let cookie = try #require(HTTPCookie.made("a", changes))
        #expect(cookie.description == "<HTTPCookie version:\(cookie.version) name:\"a\" value:\"v\" \(rest)>")
    }

    @Test("The property keys have the raw values of Foundation")
    func keys() {
        let keys: [HTTPCookiePropertyKey] = [
            .name, .value, .originURL, .version, .domain, .path, .secure, .expires, .comment, .commentURL, .discard,
            .maximumAge, .port, .sameSitePolicy,
        ]
        #expect(
            keys.map(\.rawValue) == [
                "Name", "Value", "OriginURL", "Version", "Domain", "Path", "Secure", "Expires", "Comment", "CommentURL",
                "Discard", "Max-Age", "Port", "SameSite",
            ])
        #expect(HTTPCookiePropertyKey("Name") == HTTPCookiePropertyKey(rawValue: "Name"))
    }
}
