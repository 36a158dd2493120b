import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A session and its connections", .timeLimit(.minutes(5)))
struct SessionConnectionTests {
    private static func settle(_ session: URLSession, _ ask: (URLSession, @escaping @Sendable () -> Void) -> Void) async
    {
        await withCheckedContinuation { continuation in ask(session) { continuation.resume() } }
    }

    enum Renewal: CaseIterable, Sendable {
        case flush, reset

        func ask(_ session: URLSession, _ done: @escaping @Sendable () -> Void) {
            switch self {
            case .flush: session.flush(completionHandler: done)
            case .reset: session.reset(completionHandler: done)
            }
        }
    }

    @Test("flush and reset: what comes after uses new connections", arguments: Renewal.allCases)
    func renewal(renewal: Renewal) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let sandbox = try Sandbox()
        let session = sandbox.session()
        for _ in 0..<3 {
            _ = try await session.data(from: url)
            _ = try await session.data(from: url)
            await Self.settle(session, renewal.ask)
            await server.waitUntilDisconnected()
        }
        #expect(server.requests.map(\.connection) == [1, 1, 2, 2, 3, 3])
        session.finishTasksAndInvalidate()
    }

    @Test("What is under way goes on, and its connection ends with it", arguments: Renewal.allCases)
    func underWay(renewal: Renewal) async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        let content = GeneratedContent(size: 300_000, seed: 12)
        let url = server.route("/file", .generated(content).stalled(afterBytes: 1000, until: gate))
        let sandbox = try Sandbox()
        let witness = Witness()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: url)
        task.resume()
        await gate.reached()
        await Self.settle(session, renewal.ask)
        gate.open()
        await witness.completion()
        #expect(witness.data(of: task).isSame(as: content.data))
        _ = try await session.data(from: url)
        #expect(server.requests.map(\.connection) == [1, 2])
        session.invalidateAndCancel()
    }

    @Test("finishTasksAndInvalidate closes the connections after the last task")
    func finish() async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        let url = server.route("/file", .text("hello").delayed(until: gate))
        let sandbox = try Sandbox()
        let witness = Witness()
        let session = sandbox.session(witness)
        for _ in 0..<3 { session.dataTask(with: url).resume() }
        await gate.reached(times: 3)
        session.finishTasksAndInvalidate()
        gate.open()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events.count { $0 == .completed(nil) } == 3)
        await server.waitUntilDisconnected()
        #expect(server.requests.allSatisfy { $0.ending == .complete })
    }

    @Test("invalidateAndCancel closes them at once")
    func cancel() async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        let url = server.route("/file", .generated(size: 1_000_000).stalled(afterBytes: 1000, until: gate))
        let sandbox = try Sandbox()
        let witness = Witness()
        let session = sandbox.session(witness)
        for _ in 0..<3 { session.dataTask(with: url).resume() }
        await gate.reached(times: 3)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events.count { $0 == .completed(.cancelled) } == 3)
        await server.waitUntilDisconnected()
    }

    @Test("A session nobody holds any longer closes its idle connections")
    func released() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        do {
            let sandbox = try Sandbox()
            _ = try await sandbox.session().data(from: url)
        }
        await server.waitUntilDisconnected()
    }

    @Test("Sessions do not share connections")
    func apart() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let sandbox = try Sandbox()
        let (first, second) = (sandbox.session(), sandbox.session())
        for _ in 0..<2 {
            _ = try await first.data(from: url)
            _ = try await second.data(from: url)
        }
        #expect(server.requests.map(\.connection) == [1, 2, 1, 2])
        first.finishTasksAndInvalidate()
        second.finishTasksAndInvalidate()
    }
}

@Suite("Kinds of sockets, and the Host field", .timeLimit(.minutes(5)))
struct TransportTests {
    @Test("IPv6: the address stands in brackets", arguments: LoadForm.allCases)
    func ipv6(form: LoadForm) async throws {
        let server = try LoopbackServer(.ipv6)
        let content = GeneratedContent(size: 300_000, seed: 13)
        let url = server.route("/file", .generated(content))
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(server.requests.map { $0.fields["Host"] } == ["[::1]:\(server.port)"])
    }

    @Test("A Unix-domain socket, its path percent-encoded in the place of a host", arguments: LoadForm.allCases)
    func unix(form: LoadForm) async throws {
        let sandbox = try Sandbox()
        let path = sandbox.file("a socket").path
        let server = try LoopbackServer(.unix(path: path))
        let content = GeneratedContent(size: 300_000, seed: 14)
        server.route("/target", .generated(content))
        let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let url = try #require(URL(string: "http+unix://\(host)/target?q=1#f"))
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(outcome.response?.url == url)
        #expect(server.requests.map(\.target) == ["/target?q=1"])
        #expect(server.requests.map { $0.fields["Host"] } == ["localhost"])
    }

    @Test("A redirect within a Unix-domain socket, and reuse of its connection")
    func unixRedirect() async throws {
        let sandbox = try Sandbox()
        let path = sandbox.file("socket").path
        let server = try LoopbackServer(.unix(path: path))
        server.route("/start", .redirect(to: "/end"))
        server.route("/end", .text("end"))
        let host = path.replacingOccurrences(of: "/", with: "%2F")
        let outcome = try await LoadForm.dataDelegate.load(try #require(URL(string: "http+unix://\(host)/start")))
        outcome.expectSuccess(Data("end".utf8))
        #expect(outcome.response?.url?.absoluteString == "http+unix://\(host)/end")
        #expect(server.requests.map(\.connection) == [1, 1])
    }

    @Test(
        "The Host field is the URL's host and port, without name and password",
        arguments: [
            ("127.0.0.1:%PORT%", "127.0.0.1:%PORT%"), ("localhost:%PORT%", "localhost:%PORT%"),
            ("user:password@127.0.0.1:%PORT%", "127.0.0.1:%PORT%"), ("127.0.0.1:0%PORT%", "127.0.0.1:%PORT%"),
        ])
    func host(authority: String, field: String) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        func filled(_ text: String) -> String { text.replacingOccurrences(of: "%PORT%", with: "\(server.port)") }
        let url = try #require(URL(string: "http://\(filled(authority))/file"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("hello".utf8))
        #expect(server.requests.map { $0.fields["Host"] } == [filled(field)])
        #expect(server.requests.map { $0.fields.names.first } == ["Host"])
    }

    @Test("A Host of the user's own goes out instead, once", arguments: ["Host", "host", "HOST"])
    func ownHost(name: String) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/file", .text("hello")))
        request.setValue("virtual.example", forHTTPHeaderField: name)
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data("hello".utf8))
        #expect(server.requests.map { $0.fields.values("Host") } == [["virtual.example"]])
    }

    @Test("Capital letters in a host name make no second origin")
    func capitals() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        let sandbox = try Sandbox()
        let session = sandbox.session()
        for host in ["localhost", "LocalHost", "LOCALHOST"] {
            _ = try await session.data(from: try #require(URL(string: "http://\(host):\(server.port)/file")))
        }
        #expect(server.requests.map(\.connection) == [1, 1, 1])
        session.finishTasksAndInvalidate()
    }
}
