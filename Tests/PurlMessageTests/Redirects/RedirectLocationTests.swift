import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The target of a redirect", .timeLimit(.minutes(5)))
struct RedirectLocationTests {
    /// Locations as seen from `/dir/page?x=1`; `%HOST%` stands for the server's address and port.
    static let locations: [(location: String, target: String)] = [
        ("/abs", "/abs"), ("/abs?q=1", "/abs?q=1"), ("next", "/dir/next"), ("./next", "/dir/next"),
        ("../up", "/up"), ("../../../up", "/up"), ("sub/next", "/dir/sub/next"), ("/a/./b/../c", "/a/c"),
        ("?q=2", "/dir/page?q=2"), ("http://%HOST%/abs", "/abs"), ("http://%HOST%", "/"),
        ("http://%HOST%?q", "/?q"), ("HTTP://%HOST%/abs", "/abs"), ("//%HOST%/abs", "/abs"), ("//%HOST%", "/"),
        ("http://user:password@%HOST%/abs", "/abs"), ("/abs#fragment", "/abs"), ("/a%20b", "/a%20b"),
        ("/a b", "/a%20b"),
        ("/ä", "/%C3%A4"), ("/中文?键=值", "/%E4%B8%AD%E6%96%87?%E9%94%AE=%E5%80%BC"), ("/%e4%b8%ad", "/%e4%b8%ad"),
        ("/a?b?c=/d", "/a?b?c=/d"), ("/a;b=c", "/a;b=c"), ("/%2F", "/%2F"), ("/a//b", "/a//b"), ("/a?", "/a?"),
        ("/a|b^c", "/a%7Cb%5Ec"), ("/\"quoted\"", "/%22quoted%22"),
    ]

    @Test("Location is resolved against the request's URL", arguments: locations)
    func leads(location: String, to target: String) async throws {
        let server = try LoopbackServer()
        let location = location.replacingOccurrences(of: "%HOST%", with: "127.0.0.1:\(server.port)")
        server.route("/dir/page", .sequence([.redirect(to: location), .text("end")]))
        server.fallback(.text("end"))
        let outcome = try await LoadForm.dataDelegate.load(server.url("/dir/page?x=1"))
        outcome.expectSuccess(Data("end".utf8))
        #expect(server.requests.map(\.target) == ["/dir/page?x=1", target])
    }

    @Test("Bytes of Location that are not UTF-8 are read as Latin-1")
    func latin1() async throws {
        let server = try LoopbackServer()
        let head = Data("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /".utf8) + [0xE4] + Data("\r\n\r\n".utf8)
        let url = server.route("/start", .raw([head], then: .keepOpen))
        server.fallback(.text("end"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("end".utf8))
        #expect(server.requests.last?.target == "/%C3%A4")
    }

    @Test("The fragment is inherited unless Location has one, and is never sent")
    func fragment() async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: "/kept"))
        server.route("/kept", .redirect(to: "/own#new"))
        server.route("/own", .redirect(to: "/end"))
        server.fallback(.text("end"))
        let outcome = try await LoadForm.dataDelegate.load(server.url("/start#old"))
        #expect(outcome.response?.url == server.url("/end#new"))
        #expect(server.requests.map(\.target) == ["/start", "/kept", "/own", "/end"])
    }

    @Test("An inherited fragment stays as it is written", arguments: ["a%20b", "%2F", "a%2520b", "%C3%A4", "q?x=1/2"])
    func encodedFragment(fragment: String) async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: "/middle"))
        server.route("/middle", .redirect(to: "/end"))
        server.fallback(.text("end"))
        let outcome = try await LoadForm.dataDelegate.load(server.url("/start#\(fragment)"))
        #expect(outcome.response?.url?.absoluteString == server.url("/end").absoluteString + "#\(fragment)")
    }

    @Test("A redirect may lead to another server, host name or address family", arguments: LoadForm.allCases)
    func elsewhere(form: LoadForm) async throws {
        let first = try LoopbackServer()
        let second = try LoopbackServer()
        let url = first.route("/start", .redirect(to: second.url("/middle").absoluteString))
        second.route("/middle", .redirect(to: "http://localhost:\(first.port)/end"))
        first.route("/end", .text("end"))
        let outcome = try await form.load(url)
        outcome.expectSuccess(Data("end".utf8))
        #expect(first.requests.map { $0.fields["Host"] } == ["127.0.0.1:\(first.port)", "localhost:\(first.port)"])
        #expect(second.requests.map { $0.fields["Host"] } == ["127.0.0.1:\(second.port)"])
        #expect(outcome.response?.url?.absoluteString == "http://localhost:\(first.port)/end")
    }

    @Test("The request's own Host field is not sent after a redirect")
    func hostField() async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/start", .redirect(to: "/end")))
        server.route("/end", .text("end"))
        request.setValue("virtual.example", forHTTPHeaderField: "Host")
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data("end".utf8))
        #expect(server.requests.map { $0.fields["Host"] } == ["virtual.example", "127.0.0.1:\(server.port)"])
    }

    @Test("The first of several Location fields is used")
    func severalLocations() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .status(302).field("Location", "/first").field("Location", "/second"))
        server.fallback(.text("end"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("end".utf8))
        #expect(server.requests.map(\.path) == ["/start", "/first"])
    }

    static let notFollowed: [(name: String, reply: Reply)] = [
        ("200 with Location", .text("here").field("Location", "/end")),
        ("201 with Location", .text("here").status(201).field("Location", "/end")),
        ("300", .text("here").status(300).field("Location", "/end")),
        ("305", .text("here").status(305).field("Location", "/end")),
        ("306", .text("here").status(306).field("Location", "/end")),
        ("399", .text("here").status(399).field("Location", "/end")),
        ("400 with Location", .text("here").status(400).field("Location", "/end")),
        ("301 without Location", .text("here").status(301)), ("302 without Location", .text("here").status(302)),
        ("303 without Location", .text("here").status(303)), ("307 without Location", .text("here").status(307)),
        ("308 without Location", .text("here").status(308)),
        ("302 with Content-Location", .text("here").status(302).field("Content-Location", "/end")),
    ]

    @Test("A response that is not a redirect is the result", arguments: notFollowed, LoadForm.allCases)
    func result(row: (name: String, reply: Reply), form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", row.reply)
        server.route("/end", .text("end"))
        let outcome = try await form.load(url)
        outcome.expectSuccess(Data("here".utf8))
        #expect(outcome.response?.url == url)
        #expect(server.requests.map(\.path) == ["/start"])
        #expect(!outcome.events.contains { if case .redirect = $0 { true } else { false } })
    }

    @Test("A 304 is the result, with or without Location", arguments: LoadForm.allCases)
    func notModified(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .status(304).field("Location", "/end"))
        let outcome = try await form.load(url)
        outcome.expectSuccess(Data())
        #expect(outcome.response?.statusCode == 304)
        #expect(server.requests.map(\.path) == ["/start"])
    }
}

@Suite("Redirects that cannot be followed", .timeLimit(.minutes(5)))
struct RedirectFailureTests {
    @Test(
        "A Location that is not a URL with a host fails with redirectToNonExistentLocation",
        arguments: ["", "http://", "http:///path", "http://[bad/", "http://?query", "http://:80/", "http:"],
        LoadForm.allCases)
    func nowhere(location: String, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: location))
        let outcome = try await form.load(url)
        outcome.expectFailure(.redirectToNonExistentLocation, at: url)
        #expect(server.requests.map(\.path) == ["/start"])
    }

    @Test("A redirect to a closed port fails with cannotConnectToHost", arguments: LoadForm.allCases)
    func refused(form: LoadForm) async throws {
        let port = try DeadPort()
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: port.url("/end").absoluteString))
        try await form.load(url).expectFailure(.cannotConnectToHost, at: port.url("/end"))
    }

    @Test("20 redirects are followed", arguments: LoadForm.allCases)
    func twenty(form: LoadForm) async throws {
        let server = try LoopbackServer()
        server.fallback(.computed { request in .redirect(to: "/\((Int(request.path.dropFirst()) ?? 0) + 1)") })
        server.route("/20", .text("end"))
        let outcome = try await form.load(server.url("/0"))
        outcome.expectSuccess(Data("end".utf8))
        #expect(server.requests.map(\.path) == (0...20).map { "/\($0)" })
        #expect(server.acceptedConnections == 1)
    }

    @Test("The 21st redirect fails with httpTooManyRedirects", arguments: LoadForm.allCases)
    func twentyOne(form: LoadForm) async throws {
        let server = try LoopbackServer()
        server.fallback(.computed { request in .redirect(to: "/\((Int(request.path.dropFirst()) ?? 0) + 1)") })
        server.route("/21", .text("end"))
        let outcome = try await form.load(server.url("/0"))
        outcome.expectFailure(.httpTooManyRedirects, at: server.url("/20"))
        #expect(server.requests.count == 21)
        #expect(outcome.events.count { if case .redirect = $0 { true } else { false } } == 20)
    }

    @Test("A redirect loop fails with httpTooManyRedirects", arguments: [301, 302, 303, 307, 308])
    func loop(status: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/loop", .redirect(status, to: "/loop"))
        try await LoadForm.dataDelegate.load(url).expectFailure(.httpTooManyRedirects, at: url)
        #expect(server.requests.count == 21)
    }
}
