import Foundation
import Testing

@testable import Purl

@Suite("How many cookies there may be (RFC 6265bis §5.7, §6.1)")
struct CookieLimitTests {
    private let clock = StoppedClock()

    @Test("A domain has 50; the one not used for the longest time makes room")
    func perDomain() {
        let storage = HTTPCookieStorage(clock: clock)
        for number in 0..<50 { storage.storeCookies(in: "c\(number)=1; Path=/\(number)", from: "http://a.example/") }
        #expect(storage.header(for: "http://a.example/0") == "c0=1")
        storage.storeCookies(in: "new=1", from: "http://a.example/")
        #expect(storage.cookies?.count == 50)
        #expect(storage.names.contains("c0"))
        #expect(!storage.names.contains("c1"))
        #expect(storage.names.last == "new")
        storage.storeCookies(in: "other=1", from: "http://www.a.example/")
        #expect(storage.cookies?.count == 51)
    }

    @Test("What is over makes room first")
    func overFirst() {
        let storage = HTTPCookieStorage(clock: clock)
        for number in 0..<49 { storage.storeCookies(in: "c\(number)=1", from: "http://a.example/") }
        storage.storeCookies(in: "short=1; Max-Age=5", from: "http://a.example/")
        clock.advance(by: 5)
        storage.storeCookies(in: "new=1", from: "http://a.example/")
        #expect(storage.names == (0..<49).map { "c\($0)" } + ["new"])
    }

    @Test("Secure cookies stay while there are others in the domain")
    func secureLast() {
        let storage = HTTPCookieStorage(clock: clock)
        storage.storeCookies(in: "secure=1; Secure", from: "https://a.example/")
        for number in 0..<60 { storage.storeCookies(in: "c\(number)=1", from: "https://a.example/") }
        #expect(storage.names == ["secure"] + (11..<60).map { "c\($0)" })
    }

    @Test("A storage has 3000")
    func inAll() {
        let storage = HTTPCookieStorage(clock: clock)
        for number in 0..<3000 { storage.storeCookies(in: "a=1", from: "http://h\(number).example/") }
        #expect(storage.header(for: "http://h0.example/") == "a=1")
        storage.storeCookies(in: "a=1", from: "http://new.example/")
        #expect(storage.cookies?.count == 3000)
        #expect(storage.header(for: "http://h0.example/") == "a=1")
        #expect(storage.header(for: "http://h1.example/") == nil)
        #expect(storage.header(for: "http://new.example/") == "a=1")
    }
}
