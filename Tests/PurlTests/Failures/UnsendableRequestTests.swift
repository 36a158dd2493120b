import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A request that cannot be written is not sent", .timeLimit(.minutes(5)))
struct UnsendableRequestTests {
    private let sandbox = Sandbox()

    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout URLRequest) -> Void

        static func method(_ name: String, _ method: String) -> Attack {
            Attack(testDescription: name) { $0.httpMethod = method }
        }

        static func field(_ text: String, name: String, value: String = "y") -> Attack {
            Attack(testDescription: text) { $0.setValue(value, forHTTPHeaderField: name) }
        }
    }

    static let attacks: [Attack] = [
        .method("CR LF in the method", "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET"),
        .method("LF in the method", "GET\n"), .method("CR in the method", "GET\r"),
        .method("NUL in the method", "GET\0"), .method("a blank in the method", "GET /other"),
        .method("an empty method", ""), .method("a letter outside ASCII in the method", "GÉT"),
        .field("CR LF in a name", name: "X\r\nY"), .field("LF in a name", name: "X\nY"),
        .field("CR in a name", name: "X\rY"), .field("NUL in a name", name: "X\0"),
        .field("a colon in a name", name: "X: y\r\nZ"), .field("a blank in a name", name: "X Y"),
        .field("a blank after a name", name: "X "), .field("an empty name", name: ""),
        .field("a letter outside ASCII in a name", name: "Länge"),
        .field("DEL in a value", name: "X", value: "a\u{7F}"),
    ]

    @Test("A request whose method or fields would break the message is not sent", arguments: attacks, LoadForm.allCases)
    func byRequest(attack: Attack, form: LoadForm) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        var request = URLRequest(url: server.url("/file"))
        request.httpBody = Data("body".utf8)
        attack.change(&request)
        try await form.load(request).expectFailure(.badURL, at: request.url)
        await server.waitUntilDisconnected()
        #expect(server.requests == [])
        #expect(server.record.badRequests == [])
    }

    @Test(
        "A value that would break the message is not taken, and the request is sent without it",
        arguments: [
            ("X", "a\r\nY: b"), ("X", "a\r\n\r\nGET /other HTTP/1.1\r\n"), ("X", "a\nY: b"), ("X", "a\rY: b"),
            ("X", "a\0b"), ("X", "a\n"), ("Host", "a\r\nY: b"), ("Accept", "*/*\r\nY: b"),
            ("User-Agent", "a\r\nY: b"), ("Content-Type", "a\r\nY: b"), ("Connection", "close\r\nY: b"),
        ])
    func byValue(name: String, value: String) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/file", .text("hello")))
        request.setValue(value, forHTTPHeaderField: name)
        try await LoadForm.dataAsync.load(request).expectSuccess(Data("hello".utf8))
        #expect(server.requests.map(\.path) == ["/file"])
        #expect(server.requests.first?.fields["Y"] == nil)
        #expect(server.record.badRequests == [])
    }

    @Test(
        "Additional fields of the session that would break the message are not sent",
        arguments: [
            ("X", "a\r\nY: b"), ("X", "a\0b"), ("X\r\nY", "b"), ("X Y", "b"), ("", "b"), ("Cookie", "a\nb"),
            ("User-Agent", "a\r\nY: b"), ("Host", "a\r\nY: b"),
        ])
    func bySession(name: String, value: String) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        let url = server.url("/file")
        let outcome = try await LoadForm.dataDelegate.load(url) { $0.httpAdditionalHeaders = [name: value] }
        // The Host field comes from the URL: the session's is not used.
        if name == "Host" {
            #expect(server.requests.allSatisfy { $0.fields["Y"] == nil })
        } else {
            outcome.expectFailure(.badURL, at: url)
            #expect(server.requests == [])
        }
        #expect(server.record.badRequests == [])
    }

    @Test("A request that the delegate returns for a redirect is checked, too")
    func byRedirect() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        let url = server.route("/file", .redirect(to: "/next"))
        let witness = Witness(redirect: { request in
            var request = request
            request.setValue("a", forHTTPHeaderField: "X\r\nY")
            return request
        })
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness)
        outcome.expectFailure(.badURL, at: server.url("/next"))
        #expect(server.requests.map(\.path) == ["/file"])
        #expect(server.record.badRequests == [])
    }

    @Test("A refused request frees its connection's place for the next one")
    func placeIsFreed() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = 1 }
        var bad = URLRequest(url: server.url("/bad"))
        bad.httpMethod = "GET\r\n"
        let good = URLRequest(url: server.url("/good"))
        for _ in 0..<3 {
            await #expect(throws: URLError.self) { try await session.data(for: bad) }
            let (body, _) = try await session.data(for: good)
            #expect(body == Data("hello".utf8))
        }
        #expect(server.requests.map(\.path) == ["/good", "/good", "/good"])
    }

    @Test(
        "Control characters and blanks in a path are sent percent-encoded",
        arguments: ["/a\r\nb", "/a\nb", "/a b", "/a\0b"])
    func target(path: String) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        guard let url = URL(string: "http://127.0.0.1:\(server.port)\(path)") else { return }
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("hello".utf8))
        #expect(server.requests.count == 1)
        #expect(server.requests.first?.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } == true)
    }
}
