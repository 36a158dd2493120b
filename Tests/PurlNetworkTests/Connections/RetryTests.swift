import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Retry on a reused connection that closes before the first byte of the response", .timeLimit(.minutes(1)))
struct RetryTests {
    private let sandbox = Sandbox()

    enum Closing: CaseIterable, Sendable {
        case cut, reset

        func applied(to reply: Reply, at moment: Reply.Phase = .beforeHead) -> Reply {
            switch self {
            case .cut: reply.cut(at: moment)
            case .reset: reply.reset(at: moment)
            }
        }
    }

    private static let hello = Reply.text("hello")

    private func request(_ url: URL, _ method: String) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        if method == "PUT" || method == "POST" || method == "PATCH" { request.httpBody = Data("the body".utf8) }
        return request
    }

    @Test(
        "A request with an idempotent method is sent once more",
        arguments: ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"], Closing.allCases)
    func idempotent(method: String, closing: Closing) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .sequence([Self.hello, closing.applied(to: Self.hello), Self.hello]))
        let session = sandbox.session()
        _ = try await session.data(from: url)
        let (body, response) = try await session.data(for: request(url, method))
        #expect(body == Data((method == "HEAD" ? "" : "hello").utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(server.requests.map(\.method) == ["GET", method, method])
        #expect(server.requests.map(\.connection) == [1, 1, 2])
        #expect(server.requests.last?.body == (method == "PUT" ? Data("the body".utf8) : Data()))
    }

    @Test(
        "A request with another method fails, since the server may have acted on it",
        arguments: ["POST", "PATCH", "LOCK"], Closing.allCases)
    func notIdempotent(method: String, closing: Closing) async throws {
        let server = try LoopbackServer()
        let url = server.route(
            "/file", .sequence([Self.hello, Self.hello, closing.applied(to: Self.hello), Self.hello]))
        let session = sandbox.session()
        // Twice: a server that has not kept a connection open is not trusted with it.
        for _ in 0..<2 { _ = try await session.data(from: url) }
        let error = await #expect(throws: URLError.self) { try await session.data(for: request(url, method)) }
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.failingURL == url)
        #expect(server.requests.map(\.connection) == [1, 1, 1])
    }

    @Test(
        "A request of which nothing could be sent is sent on a new connection, whatever its method and the transport",
        arguments: ["GET", "PUT", "POST", "PATCH"])
    func nothingSent(method: String) async throws {
        let connector = ClosedWhenReused()
        let session = sandbox.session { $0.connector = connector }
        let url = try #require(URL(string: "http://server.test/"))
        for _ in 0..<3 {
            let (body, _) = try await session.data(for: request(url, method))
            #expect(body == Data("hello".utf8))
        }
        #expect(connector.connections == 3)
    }

    @Test("A request is retried once, not twice", arguments: Closing.allCases)
    func once(closing: Closing) async throws {
        let server = try LoopbackServer()
        let dead = closing.applied(to: Self.hello)
        let url = server.route("/file", .sequence([Self.hello, dead, dead, Self.hello]))
        let session = sandbox.session()
        _ = try await session.data(from: url)
        let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
        #expect(error?.code == .networkConnectionLost)
        #expect(server.requests.map(\.connection) == [1, 1, 2])
    }

    @Test("A request on a new connection is not retried", arguments: Closing.allCases)
    func notOnNewConnection(closing: Closing) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .sequence([closing.applied(to: Self.hello), Self.hello]))
        let outcome = try await LoadForm.dataDelegate.load(url)
        outcome.expectFailure(.networkConnectionLost, at: url)
        #expect(server.requests.count == 1)
    }

    static let later: [(name: String, reply: Reply)] = [
        ("in the head", hello.cut(at: .midHead)), ("after the head", hello.cut(afterBytes: 0)),
        ("in the body", hello.cut(afterBytes: 2)),
        ("after an interim response", hello.interim(100).cut(at: .beforeHead)),
        ("after a single byte", .raw("H")),
    ]

    @Test("A request is not retried after the first byte of the response", arguments: later)
    func notLater(row: (name: String, reply: Reply)) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .sequence([Self.hello, row.reply, Self.hello]))
        let session = sandbox.session()
        _ = try await session.data(from: url)
        let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
        #expect(error?.code == .networkConnectionLost)
        #expect(server.requests.map(\.connection) == [1, 1])
    }

    @Test("Each request of a redirect chain has its own retry")
    func redirects() async throws {
        let server = try LoopbackServer()
        let dead = Self.hello.cut(at: .beforeHead)
        server.route("/1", .sequence([Self.hello, dead, .redirect(to: "/2")]))
        server.route("/2", .sequence([dead, .text("end")]))
        let session = sandbox.session()
        _ = try await session.data(from: server.url("/1"))
        let (body, _) = try await session.data(from: server.url("/1"))
        #expect(body == Data("end".utf8))
        #expect(server.requests.map(\.path) == ["/1", "/1", "/1", "/2", "/2"])
        #expect(server.requests.map(\.connection) == [1, 1, 2, 2, 3])
    }

    @Test("The retry uses a new connection, however many closed ones are idle")
    func manyDead() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route("/file", Self.hello.delayed(until: gate))
        let witness = Witness()
        let session = sandbox.session(witness)
        for _ in 0..<6 { session.dataTask(with: url).resume() }
        await gate.reached(times: 6)
        gate.open()
        await witness.completion(of: 6)
        server.closeConnections()
        let (body, _) = try await session.data(from: url)
        #expect(body == Data("hello".utf8))
        #expect(server.acceptedConnections == 7)
    }

    /// Where all connections are in use, the next one to come free has carried a request, and may be dead as well.
    @Test(
        "Of many requests to a server whose connections die at their second request none fails",
        arguments: Closing.allCases)
    func deadAtSecondRequest(closing: Closing) async throws {
        let server = try LoopbackServer()
        let used = Mutex<Set<Int>>([])
        let url = server.route(
            "/file",
            .computed { request in
                let isFirst = used.withLock { $0.insert(request.connection).inserted }
                return isFirst ? Self.hello : closing.applied(to: Self.hello)
            })
        let session = sandbox.session()
        let failures = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    do {
                        _ = try await session.data(from: url)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1.map { ["\($0)"] } ?? [] }
        }
        #expect(failures == [])
    }

    @Test("A retry is invisible to the delegate")
    func delegate() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .sequence([Self.hello, Self.hello.cut(at: .beforeHead), Self.hello]))
        let witness = Witness()
        let session = sandbox.session(witness)
        _ = try await session.data(from: url)
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(5), .completed(nil)])
    }
}

/// Connections in memory that answer one request, and are found closed when the next one is sent.
private final class ClosedWhenReused: Connector {
    private let count = Mutex(0)

    var connections: Int { count.withLock { $0 } }

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        count.withLock { $0 += 1 }
        return .transport(Connection())
    }

    private final class Connection: Transport {
        private enum Stage {
            case awaitingRequest(TransportSignal?)
            case response([UInt8], TransportSignal?)
            case idle(TransportSignal?)
            case closed
        }

        private let stage = Mutex(Stage.awaitingRequest(nil))

        func start(_ signal: TransportSignal) {
            stage.withLock { $0 = .awaitingRequest(signal) }
        }

        func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
            try stage.withLock { stage in
                switch stage {
                case .awaitingRequest(let signal):
                    let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                    stage = .response([UInt8](response.utf8), signal)
                    signal?.raise(.read)
                    return bytes.count
                case .response: return bytes.count
                case .idle(let signal):
                    stage = .closed
                    signal?.raise(.read)
                    throw POSIXError(.EPIPE)
                case .closed: throw POSIXError(.EPIPE)
                }
            }
        }

        func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws -> Int {
            _ = try write(first)
            return first.count + second.count
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
            stage.withLock { stage in
                switch stage {
                case .awaitingRequest, .idle: return nil
                case .response(let bytes, let signal):
                    buffer.copyBytes(from: bytes)
                    stage = .idle(signal)
                    return bytes.count
                case .closed: return 0
                }
            }
        }

        func finishWriting() {}
        func close() {}
    }
}
