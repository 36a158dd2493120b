import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Limits on the number of cookies (RFC 6265bis §5.7, §6.1)")
struct CookieLimitTests {
    private let clock = StoppedClock()

    @Test("A domain has at most 50 cookies, and the one not used for the longest time is removed")
    func perDomain() {
        let storage = HTTPCookieStorage(clock: clock)
        for number in 0..<50 { storage.receive("c\(number)=1; Path=/\(number)", from: "http://a.example/") }
        #expect(storage.header(for: "http://a.example/0") == "c0=1")
        storage.receive("new=1", from: "http://a.example/")
        #expect(storage.cookies?.count == 50)
        #expect(storage.names.contains("c0"))
        #expect(!storage.names.contains("c1"))
        #expect(storage.names.last == "new")
        storage.receive("other=1", from: "http://www.a.example/")
        #expect(storage.cookies?.count == 51)
    }

    @Test("Expired cookies are removed first")
    func expiredFirst() {
        let storage = HTTPCookieStorage(clock: clock)
        for number in 0..<49 { storage.receive("c\(number)=1", from: "http://a.example/") }
        storage.receive("short=1; Max-Age=5", from: "http://a.example/")
        clock.advance(by: 5)
        storage.receive("new=1", from: "http://a.example/")
        #expect(storage.names == (0..<49).map { "c\($0)" } + ["new"])
    }

    @Test("A cookie that has expired hides no other, and has no place in their order")
    func expired() {
        let storage = HTTPCookieStorage(clock: clock)
        storage.receive("a=secure; Secure; Max-Age=5", from: "https://a.example/")
        storage.receive("b=1", from: "http://a.example/")
        clock.advance(by: 5)
        storage.receive("a=plain", from: "http://a.example/")
        #expect(storage.header(for: "http://a.example/") == "b=1; a=plain")
    }

    @Test("Secure cookies are removed after the others of their domain")
    func secureLast() {
        let storage = HTTPCookieStorage(clock: clock)
        storage.receive("secure=1; Secure", from: "https://a.example/")
        for number in 0..<60 { storage.receive("c\(number)=1", from: "https://a.example/") }
        #expect(storage.names == ["secure"] + (11..<60).map { "c\($0)" })
    }

    @Test("A storage has at most 3000 cookies")
    func inAll() {
        let storage = HTTPCookieStorage(clock: clock)
        for number in 0..<3000 { storage.receive("a=1", from: "http://h\(number).example/") }
        #expect(storage.header(for: "http://h0.example/") == "a=1")
        storage.receive("a=1", from: "http://new.example/")
        #expect(storage.cookies?.count == 3000)
        #expect(storage.header(for: "http://h0.example/") == "a=1")
        #expect(storage.header(for: "http://h1.example/") == nil)
        #expect(storage.header(for: "http://new.example/") == "a=1")
    }
}
