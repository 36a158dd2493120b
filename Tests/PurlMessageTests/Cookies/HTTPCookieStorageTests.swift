import Foundation
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("HTTPCookieStorage")
struct HTTPCookieStorageTests {
    private let storage = HTTPCookieStorage()

    private func set(_ name: String, _ changes: [HTTPCookiePropertyKey: Any] = [:]) throws {
        storage.setCookie(try #require(HTTPCookie.made(name, changes)))
    }

    @Test("A new storage is empty and accepts all cookies")
    func new() throws {
        #expect(storage.cookies == [])
        #expect(storage.cookieAcceptPolicy == .always)
        #expect(storage.header(for: "http://a.example/") == nil)
        #expect(storage.cookies(for: try #require(URL(string: "http://a.example/"))) == [])
        #expect(storage.cookies(for: URL(fileURLWithPath: "/")) == nil)
    }

    @Test("There is one shared storage, and one for each group container")
    func instances() {
        #expect(HTTPCookieStorage.shared === HTTPCookieStorage.shared)
        let group = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "one")
        #expect(group === HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "one"))
        #expect(group !== HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "other"))
        #expect(group !== HTTPCookieStorage.shared)
    }

    @Test(
        "Cookies with longer paths come first, then older ones; a replaced one keeps its place (RFC 6265bis §5.8.3, §5.7)"
    )
    func order() throws {
        try set("a")
        try set("b", [.path: "/x"])
        try set("c")
        try set("d", [.path: "/x/y"])
        try set("e", [.domain: ".a.example"])
        try set("a", [.value: "new"])
        #expect(storage.pairs(for: "http://a.example/x/y/z") == ["d=v", "b=v", "a=new", "c=v", "e=v"])
        #expect(storage.names == ["a", "b", "c", "d", "e"])
        #expect(storage.header(for: "http://a.example/") == "a=new; c=v; e=v")
    }

    @Test("Name, domain, host-only flag and path identify a cookie (RFC 6265bis §5.7 step 23)")
    func identity() throws {
        try set("a")
        try set("a", [.domain: ".a.example"])
        try set("a", [.path: "/x"])
        try set("a", [.domain: "b.example"])
        try set("A")
        try set("a", [.value: "new", .secure: "TRUE"])
        #expect(storage.cookies?.map(\.value) == ["new", "v", "v", "v", "v"])
        storage.deleteCookie(try #require(HTTPCookie.made("a", [.value: "whatever"])))
        #expect(storage.cookies?.map(\.domain) == [".a.example", "a.example", "b.example", "a.example"])
        storage.deleteCookie(try #require(HTTPCookie.made("unknown")))
        #expect(storage.cookies?.count == 4)
    }

    @Test("An expired cookie removes the one it replaces, and is not stored")
    func expired() throws {
        try set("a")
        try set("b", [.expires: Date.distantPast])
        #expect(storage.names == ["a"])
        try set("a", [.expires: Date.distantPast])
        #expect(storage.names == [])
    }

    @Test("A cookie expires at its date")
    func expiry() throws {
        let clock = StoppedClock()
        let storage = HTTPCookieStorage(clock: clock)
        storage.receive("a=1; Max-Age=10", "b=1", from: "http://a.example/")
        clock.advance(by: 9)
        #expect(storage.header(for: "http://a.example/") == "a=1; b=1")
        clock.advance(by: 1)
        #expect(storage.header(for: "http://a.example/") == "b=1")
        #expect(storage.names == ["b"])
    }

    @Test("removeCookies(since:) removes cookies set since the date, replaced ones included")
    func removalSince() {
        let clock = StoppedClock()
        let storage = HTTPCookieStorage(clock: clock)
        storage.receive("a=1", "b=1", from: "http://a.example/")
        clock.advance(by: 10)
        let moment = clock.now
        storage.receive("c=1", from: "http://a.example/")
        clock.advance(by: 10)
        storage.receive("d=1", "b=2", from: "http://a.example/")
        storage.removeCookies(since: clock.now)
        #expect(storage.names == ["a", "b", "c", "d"])
        storage.removeCookies(since: moment)
        #expect(storage.names == ["a", "c"])
        storage.removeCookies(since: .distantPast)
        #expect(storage.names == [])
    }

    @Test("setCookies(_:for:mainDocumentURL:) applies the rules for the URL's server")
    func settingForURL() throws {
        let cookies = [
            HTTPCookie.made("host", [.domain: "www.a.example"]), HTTPCookie.made("parent"),
            HTTPCookie.made("all", [.domain: ".a.example"]), HTTPCookie.made("other", [.domain: "b.example"]),
            HTTPCookie.made("top", [.domain: ".example"]), HTTPCookie.made("secure", [.secure: "TRUE"]),
        ].compactMap { $0 }
        #expect(cookies.count == 6)
        storage.setCookies(cookies, for: URL(string: "http://www.a.example/"), mainDocumentURL: nil)
        #expect(storage.names == ["host", "parent", "all"])
        storage.setCookies(cookies, for: URL(string: "https://www.a.example/"), mainDocumentURL: nil)
        #expect(storage.names == ["host", "parent", "all", "secure"])
        #expect(storage.pairs(for: "https://www.a.example/") == ["host=v", "all=v"])
        storage.setCookies(cookies, for: nil, mainDocumentURL: nil)
        #expect(storage.cookies?.count == 4)
    }

    static let policies: [(HTTPCookie.AcceptPolicy, document: String?, isTaken: Bool)] = [
        (.always, nil, true), (.always, "http://b.example/", true),
        (.never, nil, false), (.never, "http://www.a.example/", false),
        (.onlyFromMainDocumentDomain, nil, true), (.onlyFromMainDocumentDomain, "http://www.a.example/", true),
        (.onlyFromMainDocumentDomain, "http://x.www.a.example/", true),
        (.onlyFromMainDocumentDomain, "https://A.Example/", true),
        (.onlyFromMainDocumentDomain, "http://b.example/", false),
        (.onlyFromMainDocumentDomain, "http://ftp.a.example/", false),
        (.onlyFromMainDocumentDomain, "http://example/", false), (.onlyFromMainDocumentDomain, "file:///x", false),
    ]

    @Test("A cookie is stored only if both the storage's and the configuration's policy accept it", arguments: policies)
    func policy(policy: HTTPCookie.AcceptPolicy, document: String?, isTaken: Bool) {
        storage.cookieAcceptPolicy = policy
        storage.receive("a=1", from: "http://www.a.example/", document: document)
        #expect(storage.names == (isTaken ? ["a"] : []))
        let other = HTTPCookieStorage()
        other.receive("a=1", from: "http://www.a.example/", document: document, policy: policy)
        #expect(other.names == (isTaken ? ["a"] : []))
    }

    @Test("setCookie(_:) stores unless the policy is never, and stored cookies are sent under any policy")
    func policyForSetCookie() throws {
        storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
        try set("a")
        storage.cookieAcceptPolicy = .never
        try set("b")
        #expect(storage.header(for: "http://a.example/") == "a=v")
    }

    @Test("sortedCookies(using:) sorts by the descriptors")
    func sorting() throws {
        try set("b", [.path: "/1"])
        try set("a", [.path: "/2"])
        try set("c", [.path: "/2"])
        let byPathThenName = [
            NSSortDescriptor(keyPath: \HTTPCookie.path, ascending: true),
            NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: false),
        ]
        #expect(storage.sortedCookies(using: byPathThenName).map(\.name) == ["b", "c", "a"])
        #expect(storage.sortedCookies(using: []).map(\.name) == ["b", "a", "c"])
    }

    @Test("A cookie is sent to its ports only")
    func ports() throws {
        try set("a", [.version: "1", .port: "80,8080"])
        #expect(storage.header(for: "http://a.example/") == "a=v")
        #expect(storage.header(for: "http://a.example:8080/") == "a=v")
        #expect(storage.header(for: "http://a.example:81/") == nil)
        #expect(storage.header(for: "https://a.example/") == nil)
    }

    @Test("setCookie(_:) refuses a cookie that breaks its name's prefix or is too large")
    func invalidCookies() throws {
        try set("__Host-a")
        try set("__Host-b", [.secure: "TRUE"])
        try set("__Host-c", [.secure: "TRUE", .domain: ".a.example"])
        try set("__Secure-d")
        try set("e", [.value: String(repeating: "x", count: 4096)])
        try set("f", [.value: String(repeating: "x", count: 4095)])
        #expect(storage.names == ["__Host-b", "f"])
    }

    @Test("A cookie storage posts a notification for each change, and for nothing else")
    func notifications() throws {
        let count = Mutex(0)
        let policies = Mutex(0)
        let center = NotificationCenter.default
        let observers = [
            center.addObserver(forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil) { _ in
                count.withLock { $0 += 1 }
            },
            center.addObserver(forName: .NSHTTPCookieManagerAcceptPolicyChanged, object: storage, queue: nil) { _ in
                policies.withLock { $0 += 1 }
            },
        ]
        defer { for observer in observers { center.removeObserver(observer) } }
        try set("a")
        #expect(count.withLock { $0 } == 1)
        try set("b", [.expires: Date.distantPast])
        storage.deleteCookie(try #require(HTTPCookie.made("b")))
        storage.removeCookies(since: .distantFuture)
        _ = storage.cookies
        #expect(count.withLock { $0 } == 1)
        storage.deleteCookie(try #require(HTTPCookie.made("a")))
        #expect(count.withLock { $0 } == 2)
        storage.cookieAcceptPolicy = .never
        storage.cookieAcceptPolicy = .never
        #expect(policies.withLock { $0 } == 1)
    }

    @Test("A storage posts a notification when a server sets a cookie", .timeLimit(.minutes(5)))
    func notificationOfServersCookies() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
        ) { _ in continuation.yield() }
        defer { NotificationCenter.default.removeObserver(observer) }
        storage.receive("a=1", from: "http://a.example/")
        for await _ in stream { break }
        #expect(storage.names == ["a"])
    }

    @Test("A subclass is called, and its secure cookies are not sent over plain connections")
    func subclass() throws {
        final class Fixed: HTTPCookieStorage, @unchecked Sendable {
            let told = Mutex<[String]>([])
            override func cookies(for url: URL) -> [HTTPCookie]? {
                [HTTPCookie.made("mine"), HTTPCookie.made("secret", [.secure: "TRUE"])].compactMap { $0 }
            }
            override func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
                told.withLock { $0 += cookies.map(\.name) }
            }
        }
        let storage = Fixed()
        #expect(storage.header(for: "http://b.example/") == "mine=v")
        storage.receive("a=1", "b=2", from: "http://a.example/")
        #expect(storage.told.withLock { $0 } == ["a", "b"])
        #expect(storage.cookies == [])
    }

    @Test("A request's own Cookie field is not joined with stored cookies")
    func ownField() throws {
        try set("a")
        var request = URLRequest(url: try #require(URL(string: "http://a.example/")))
        #expect(storage.cookieHeader(for: request) == "a=v")
        request.setValue("b=1", forHTTPHeaderField: "cookie")
        #expect(storage.cookieHeader(for: request) == nil)
        request = .unreadable
        #expect(storage.cookieHeader(for: request) == nil)
    }

    @Test("getCookiesFor returns the cookies of the task's current request")
    func tasks() async throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://a.example/x")))
        let foreign = try #require(HTTPCookie.made("b", [.domain: "b.example"]))
        storage.storeCookies([try #require(HTTPCookie.made("a")), foreign], for: task)
        #expect(storage.names == ["a"])
        #expect(await storage.cookies(for: task)?.map(\.name) == ["a"])
    }

    @Test("The description has the number of cookies")
    func description() throws {
        try set("a")
        #expect(storage.description == "<NSHTTPCookieStorage cookies count:1>")
    }
}
