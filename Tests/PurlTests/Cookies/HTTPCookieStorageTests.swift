import Foundation
import Synchronization
import Testing

@testable import Purl

@Suite("HTTPCookieStorage")
struct HTTPCookieStorageTests {
    private let storage = HTTPCookieStorage()

    private func set(_ name: String, _ changes: [HTTPCookiePropertyKey: Any] = [:]) throws {
        storage.setCookie(try #require(HTTPCookie.made(name, changes)))
    }

    @Test("A new one is empty and takes all cookies")
    func new() throws {
        #expect(storage.cookies == [])
        #expect(storage.cookieAcceptPolicy == .always)
        #expect(storage.header(for: "http://a.example/") == nil)
        #expect(storage.cookies(for: try #require(URL(string: "http://a.example/"))) == [])
        #expect(storage.cookies(for: URL(fileURLWithPath: "/")) == nil)
    }

    @Test("There is one shared storage, and one of each group")
    func instances() {
        #expect(HTTPCookieStorage.shared === HTTPCookieStorage.shared)
        let group = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "one")
        #expect(group === HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "one"))
        #expect(group !== HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "other"))
        #expect(group !== HTTPCookieStorage.shared)
    }

    @Test("Longer paths are sent first, then older cookies; a replaced one keeps its place (RFC 6265bis §5.8.3, §5.7)")
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

    @Test("Name, domain, host-only or not, and path make a cookie (RFC 6265bis §5.7 step 23)")
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

    @Test("A cookie that is over removes the one whose place it takes, and is not kept")
    func overAlready() throws {
        try set("a")
        try set("b", [.expires: Date.distantPast])
        #expect(storage.names == ["a"])
        try set("a", [.expires: Date.distantPast])
        #expect(storage.names == [])
    }

    @Test("A cookie is over at its moment")
    func expiry() throws {
        let clock = StoppedClock()
        let storage = HTTPCookieStorage(clock: clock)
        storage.storeCookies(in: "a=1; Max-Age=10", "b=1", from: "http://a.example/")
        clock.advance(by: 9)
        #expect(storage.header(for: "http://a.example/") == "a=1; b=1")
        clock.advance(by: 1)
        #expect(storage.header(for: "http://a.example/") == "b=1")
        #expect(storage.names == ["b"])
    }

    @Test("What was set since a moment can be removed; setting again counts")
    func removalSince() {
        let clock = StoppedClock()
        let storage = HTTPCookieStorage(clock: clock)
        storage.storeCookies(in: "a=1", "b=1", from: "http://a.example/")
        clock.advance(by: 10)
        let moment = clock.now
        storage.storeCookies(in: "c=1", from: "http://a.example/")
        clock.advance(by: 10)
        storage.storeCookies(in: "d=1", "b=2", from: "http://a.example/")
        storage.removeCookies(since: clock.now)
        #expect(storage.names == ["a", "b", "c", "d"])
        storage.removeCookies(since: moment)
        #expect(storage.names == ["a", "c"])
        storage.removeCookies(since: .distantPast)
        #expect(storage.names == [])
    }

    @Test("Cookies of the user's own for a URL are taken as from its server")
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

    @Test("The storage's policy and the configuration's both have to let a cookie in", arguments: policies)
    func policy(policy: HTTPCookie.AcceptPolicy, document: String?, isTaken: Bool) {
        storage.cookieAcceptPolicy = policy
        storage.storeCookies(in: "a=1", from: "http://www.a.example/", document: document)
        #expect(storage.names == (isTaken ? ["a"] : []))
        let other = HTTPCookieStorage()
        other.storeCookies(in: "a=1", from: "http://www.a.example/", document: document, policy: policy)
        #expect(other.names == (isTaken ? ["a"] : []))
    }

    @Test("A user's cookie is kept unless the policy is never; what is there is sent whatever the policy")
    func policyForUsers() throws {
        storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
        try set("a")
        storage.cookieAcceptPolicy = .never
        try set("b")
        #expect(storage.header(for: "http://a.example/") == "a=v")
    }

    @Test("Sorted as the descriptors say")
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

    @Test("A cookie goes to its ports")
    func ports() throws {
        try set("a", [.version: "1", .port: "80,8080"])
        #expect(storage.header(for: "http://a.example/") == "a=v")
        #expect(storage.header(for: "http://a.example:8080/") == "a=v")
        #expect(storage.header(for: "http://a.example:81/") == nil)
        #expect(storage.header(for: "https://a.example/") == nil)
    }

    @Test("A user's cookie may not promise what it does not keep, nor be too large")
    func promises() throws {
        try set("__Host-a")
        try set("__Host-b", [.secure: "TRUE"])
        try set("__Host-c", [.secure: "TRUE", .domain: ".a.example"])
        try set("__Secure-d")
        try set("e", [.value: String(repeating: "x", count: 4096)])
        try set("f", [.value: String(repeating: "x", count: 4095)])
        #expect(storage.names == ["__Host-b", "f"])
    }

    @Test("Changes are announced, and nothing else is")
    func announcements() throws {
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

    @Test("What a server sets is announced as well", .timeLimit(.minutes(5)))
    func announcementOfServersCookies() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
        ) { _ in continuation.yield() }
        defer { NotificationCenter.default.removeObserver(observer) }
        storage.storeCookies(in: "a=1", from: "http://a.example/")
        for await _ in stream { break }
        #expect(storage.names == ["a"])
    }

    @Test("A subclass is asked and told; a secure cookie it lets slip in is not sent in the open")
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
        storage.storeCookies(in: "a=1", "b=2", from: "http://a.example/")
        #expect(storage.told.withLock { $0 } == ["a", "b"])
        #expect(storage.cookies == [])
    }

    @Test("A request's own Cookie field stands alone")
    func ownField() throws {
        try set("a")
        var request = URLRequest(url: try #require(URL(string: "http://a.example/")))
        #expect(storage.cookieHeader(for: request) == "a=v")
        request.setValue("b=1", forHTTPHeaderField: "cookie")
        #expect(storage.cookieHeader(for: request) == nil)
        request = .unreadable
        #expect(storage.cookieHeader(for: request) == nil)
    }

    @Test("A task's cookies are those of its current request")
    func tasks() async throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://a.example/x")))
        let foreign = try #require(HTTPCookie.made("b", [.domain: "b.example"]))
        storage.storeCookies([try #require(HTTPCookie.made("a")), foreign], for: task)
        #expect(storage.names == ["a"])
        #expect(await storage.cookies(for: task)?.map(\.name) == ["a"])
    }

    @Test("Its description counts")
    func description() throws {
        try set("a")
        #expect(storage.description == "<NSHTTPCookieStorage cookies count:1>")
    }
}
