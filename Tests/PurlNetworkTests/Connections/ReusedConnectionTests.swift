import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Connection reuse", .timeLimit(.minutes(5)))
struct ReusedConnectionTests {
    private let sandbox = Sandbox()

    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: Reply
        var method = "GET"
        var fields: [String: String] = [:]

        init(_ name: String, _ reply: Reply, method: String = "GET", fields: [String: String] = [:]) {
            testDescription = name
            self.reply = reply
            self.method = method
            self.fields = fields
        }
    }

    private static func raw(_ text: String, then ending: Reply.RawEnding = .keepOpen) -> Reply {
        .raw(text, then: ending)
    }

    static let kept: [Answer] = [
        Answer("a body of a length", .text("hello")),
        Answer("a long body", .generated(size: 3_000_000)),
        Answer("an empty body", .bytes(Data())),
        Answer("a chunked body", .generated(size: 300_000).chunked(size: 1000)),
        Answer("an empty chunked body", .bytes(Data()).chunked()),
        Answer("chunks with trailers", .text("hello").chunked(trailers: ["X": "y"])),
        Answer("HEAD with a length", .text("hello"), method: "HEAD"),
        Answer("HEAD of a chunked body", .text("hello").chunked(), method: "HEAD"),
        Answer("HEAD of a body until close", raw("HTTP/1.1 200 OK\r\n\r\n"), method: "HEAD"),
        Answer("204", .status(204)),
        Answer("204 with a length", raw("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")),
        Answer("204 without one", raw("HTTP/1.1 204 No Content\r\n\r\n")),
        Answer("304", .status(304)),
        Answer("304 with a length", raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")),
        Answer("304 with chunked", raw("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n")),
        Answer("404", .text("no").status(404)),
        Answer("500", .text("no").status(500)),
        Answer("interim responses before it", .text("hello").interim(100).interim(103, fields: ["Link": "</a>"])),
        Answer("Connection: keep-alive", .text("hello").field("Connection", "keep-alive")),
        Answer("Keep-Alive: timeout=60", .text("hello").field("Keep-Alive", "timeout=60, max=100")),
        Answer("a Keep-Alive without a valid time-out", .text("hello").field("Keep-Alive", "timeout=soon")),
        Answer(
            "HTTP/1.0 with keep-alive",
            raw("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello")),
    ]

    static let closed: [Answer] = [
        Answer("Connection: close", .text("hello").closingConnection()),
        Answer("close among others", raw("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 5\r\n\r\nhello")),
        Answer(
            "close and keep-alive",
            raw("HTTP/1.1 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 5\r\n\r\nhello")),
        Answer("HTTP/1.0", raw("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")),
        Answer("a body until close", .text("hello").untilClose()),
        Answer("Connection: close in the request", .text("hello"), fields: ["Connection": "close"]),
        Answer("a close without a word", .text("hello").closingConnection(announced: false)),
        Answer("HEAD with Connection: close", .text("hello").closingConnection(), method: "HEAD"),
        Answer("204 with Connection: close", .status(204).closingConnection()),
        Answer("an answer before the body was taken", .text("hello").beforeBody(), method: "PUT"),
        Answer("Keep-Alive: timeout=0", .text("hello").field("Keep-Alive", "timeout=0")),
    ]

    private func load(_ answer: Answer, times: Int) async throws -> [Int] {
        let server = try LoopbackServer()
        let url = server.route("/file", answer.reply)
        let session = sandbox.session()
        var request = URLRequest(url: url)
        request.httpMethod = answer.method
        if answer.method == "PUT" || answer.method == "POST" { request.httpBody = Data(count: 100_000) }
        for (name, value) in answer.fields { request.setValue(value, forHTTPHeaderField: name) }
        for _ in 0..<times {
            _ = try await session.data(for: request)
        }
        session.finishTasksAndInvalidate()
        return server.requests.map(\.connection)
    }

    @Test("The connection is reused after", arguments: kept)
    func same(answer: Answer) async throws {
        #expect(try await load(answer, times: 4) == [1, 1, 1, 1])
    }

    @Test("A new connection is made after", arguments: closed)
    func new(answer: Answer) async throws {
        #expect(try await load(answer, times: 3) == [1, 2, 3])
    }

    /// The connections of requests in a row, at most two of them at a time, while the clock stands still.
    private func connections(of methods: [String]) async throws -> [Int] {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/file", .text("hello")))
        let session = sandbox.session {
            $0.clock = ManualClock()
            $0.httpMaximumConnectionsPerHost = 2
        }
        for method in methods {
            request.httpMethod = method
            _ = try await session.data(for: request)
        }
        session.finishTasksAndInvalidate()
        return server.requests.map(\.connection)
    }

    @Test("A POST has a connection of its own until the server has kept one open for a second request")
    func posts() async throws {
        #expect(try await connections(of: ["GET", "GET", "POST", "POST"]) == [1, 1, 1, 1])
        #expect(try await connections(of: ["GET", "POST", "GET", "POST"]) == [1, 2, 2, 2])
        #expect(try await connections(of: ["POST", "POST", "POST", "POST"]) == [1, 2, 3, 4])
    }

    @Test("A delegate's task leaves a reusable connection after", arguments: kept)
    func byDelegate(answer: Answer) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/file", answer.reply))
        request.httpMethod = answer.method
        let witness = Witness()
        let session = sandbox.session(witness)
        session.dataTask(with: request).resume()
        await witness.completion()
        session.downloadTask(with: request).resume()
        await witness.completion(of: 2)
        #expect(server.requests.map(\.connection) == [1, 1])
        #expect(witness.events.count { $0 == .completed(nil) } == 2)
        #expect(sandbox.partialNames == [])
    }

    @Test("Each origin has its own connection")
    func origins() async throws {
        let servers = [try LoopbackServer(), try LoopbackServer(), try LoopbackServer()]
        for server in servers { server.fallback(.text("hello")) }
        let session = sandbox.session()
        for _ in 0..<3 {
            for server in servers { _ = try await session.data(from: server.url("/file")) }
        }
        for server in servers { #expect(server.requests.map(\.connection) == [1, 1, 1]) }
    }

    @Test("A cancelled exchange closes its connection")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let slow = server.route("/slow", .generated(size: 1_000_000).stalled(afterBytes: 1000, until: gate))
        let file = server.route("/file", .text("hello"))
        let witness = Witness()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: slow).resumed()
        await gate.reached()
        task.cancel()
        await witness.completion()
        let (body, _) = try await session.data(from: file)
        #expect(body == Data("hello".utf8))
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    @Test("An idle connection that the server closed is not used, and its successor is reused")
    func serverClosesIdle() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let session = sandbox.session()
        for round in 1...3 {
            for _ in 0..<2 {
                let (body, _) = try await session.data(from: url)
                #expect(body == Data("hello".utf8))
            }
            #expect(server.acceptedConnections == round)
            server.closeConnections()
        }
    }
}

@Suite("Surplus bytes never become part of another response", .timeLimit(.minutes(5)))
struct SurplusByteTests {
    private let sandbox = Sandbox()
    static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    static let answers: [(name: String, text: String, body: String)] = [
        ("after a body of a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"),
        ("after an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""),
        ("after chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("after 204", "HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("after 304", "HTTP/1.1 304 Not Modified\r\n\r\n", ""),
    ]

    @Test("Surplus bytes in the same piece as the response are discarded with the connection", arguments: answers)
    func samePiece(name: String, text: String, body: String) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .sequence([.raw(text + Self.evil, then: .keepOpen), .text("second")]))
        let session = sandbox.session()
        let (first, _) = try await session.data(from: url)
        let (second, _) = try await session.data(from: url)
        #expect(first == Data(body.utf8))
        #expect(second == Data("second".utf8))
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    @Test("A body in the response to HEAD is discarded with the connection")
    func head() async throws {
        let server = try LoopbackServer()
        let url = server.url("/file")
        server.route(
            "/file", method: "HEAD", .raw("HTTP/1.1 200 OK\r\nContent-Length: 45\r\n\r\n" + Self.evil, then: .keepOpen))
        server.route("/file", method: "GET", .text("second"))
        let session = sandbox.session()
        var request = URLRequest(url: url)
        request.httpMethod = "HEAD"
        let (first, _) = try await session.data(for: request)
        let (second, _) = try await session.data(from: url)
        #expect(first == Data())
        #expect(second == Data("second".utf8))
    }

    // Nothing is read until the delegate answers: the surplus is in the socket when the message ends.
    @Test(
        "Surplus bytes after a complete response are not read as the response to a waiting request", arguments: answers)
    func behind(name: String, text: String, body: String) async throws {
        let (mayFollow, hasFollowed) = (Signal(), Signal())
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            if hasFollowed.isSet {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond")
            } else {
                peer.send(text)
                await mayFollow.wait()
                peer.send(Self.evil)
                hasFollowed.set()
            }
            _ = await peer.rest()
        }
        let url = try listener.url("/file")
        let delegate = HoldingDelegate(tasks: 2)
        let session = sandbox.session(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        let (first, second) = (session.dataTask(with: url), session.dataTask(with: url))
        first.resume()
        second.resume()
        await delegate.hasResponse.wait()
        mayFollow.set()
        await hasFollowed.wait()
        delegate.allow()
        await delegate.hasCompleted.wait()
        #expect(delegate.ending(of: first).data == Data(body.utf8))
        #expect(delegate.ending(of: second).data == Data("second".utf8))
        #expect(delegate.ending(of: second).error == nil)
        #expect(listener.acceptedConnections == 2)
    }

    @Test("Bytes on an idle connection close it")
    func idle() async throws {
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            guard await peer.head() != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld" + Self.evil)
            _ = await peer.rest()
        }
        let url = try listener.url("/file")
        let session = sandbox.session()
        var bodies: [String] = []
        for _ in 0..<4 {
            let (body, _) = try await session.data(from: url)
            bodies.append(String(decoding: body, as: UTF8.self))
        }
        #expect(bodies == ["hello", "world", "hello", "world"])
        #expect(listener.acceptedConnections == 2)
    }
}
