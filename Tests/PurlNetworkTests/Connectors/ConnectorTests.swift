import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A session with a connector", .timeLimit(.minutes(5)))
struct ConnectorTests {
    private let witness = TaskWitness()
    private let sandbox = Sandbox()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer(.memory)
        server.route("/file", .text("content"))
    }

    private func session(
        _ witness: TaskWitness? = nil, _ connector: any Connector,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(witness) {
            $0.connector = connector
            change($0)
        }
    }

    private func failure(of url: URL, _ connector: any Connector) async throws -> URLError {
        let session = session(nil, connector)
        defer { session.invalidateAndCancel() }
        return try await #require(throws: URLError.self) { try await session.data(from: url) }
    }

    @Test("Its transports carry HTTP, and are used again")
    func http() async throws {
        let log = LoggedConnector(server.connector)
        let session = session(nil, log)
        for _ in 0..<3 { #expect(try await session.data(from: server.url("/file")).0 == Data("content".utf8)) }
        #expect(log.requests.map(\.host) == ["in-memory.test"])
        #expect(log.requests.map(\.port) == [Int(server.port)])
        #expect(log.requests.map(\.scheme) == ["http"])
    }

    @Test("Large bodies go through it in both directions")
    func bodies() async throws {
        let content = GeneratedContent(size: 5 << 20)
        server.route("/large", .generated(content))
        server.route("/upload", .text("thanks"))
        let session = session(nil, server.connector)
        #expect(try await session.data(from: server.url("/large")).0 == content.data)
        let (file, _) = try await session.download(from: server.url("/large"))
        #expect(try Data(contentsOf: file) == content.data)
        try FileManager.default.removeItem(at: file)
        let source = sandbox.file("source")
        try content.data.write(to: source)
        var request = URLRequest(url: server.url("/upload"))
        request.httpMethod = "PUT"
        _ = try await session.upload(for: request, fromFile: source)
        _ = try await session.upload(for: request, from: content.data)
        #expect(server.requests.suffix(2).map(\.body) == [content.data, content.data])
    }

    @Test("WebSocket tasks, stream tasks and proxies are connected by it, too")
    func otherTasks() async throws {
        server.route("/chat", .webSocket(.echo))
        let log = LoggedConnector(server.connector)
        let session = session(nil, log)
        let chat = session.webSocketTask(with: try #require(URL(string: "ws://in-memory.test:\(server.port)/chat")))
        chat.resume()
        try await chat.send(.string("hello"))
        guard case .string("hello") = try await chat.receive() else { throw URLError(.badServerResponse) }
        chat.cancel()

        server.stream(.listening.send("greeting").finish())
        let stream = session.streamTask(withHostName: "stream.test", port: 7).resumed()
        #expect(try await stream.readData(ofMinLength: 8, maxLength: 8, timeout: 0).0 == Data("greeting".utf8))
        server.stream(nil)
        stream.cancel()
        session.invalidateAndCancel()

        server.route("/proxied", .text("by proxy"))
        let proxied = self.session(nil, log) {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "proxy.test:3128"]
        }
        let url = try #require(URL(string: "http://server.test/proxied"))
        #expect(try await proxied.data(from: url).0 == Data("by proxy".utf8))
        #expect(log.requests.map(\.scheme) == ["ws", "tcp", "http"])
        #expect(log.requests.map(\.host) == ["in-memory.test", "stream.test", "proxy.test"])
        #expect(log.requests.map(\.port) == [Int(server.port), 7, 3128])
    }

    @Test("It learns when the request's time is over")
    func deadline() async throws {
        let log = LoggedConnector(server.connector)
        var request = URLRequest(url: server.url("/file"))
        request.timeoutInterval = 100
        let session = session(nil, log)
        let before = ContinuousClock.now
        _ = try await session.data(for: request)
        let deadline = try #require(log.requests.first?.deadline)
        #expect(deadline > before + .seconds(50) && deadline < .now + .seconds(101))
    }

    @Test("A URLError that it throws is the task's error")
    func urlErrors() async throws {
        let thrown = URLError(.secureConnectionFailed, userInfo: [NSLocalizedFailureReasonErrorKey: "No key."])
        let error = try await failure(of: server.url("/file"), FailingConnector(error: thrown))
        #expect(error.code == .secureConnectionFailed)
        #expect(error.failingURL == server.url("/file"))
        #expect((error as NSError).localizedFailureReason == "No key.")
    }

    @Test("Another error that it throws is beneath cannotConnectToHost")
    func otherErrors() async throws {
        struct NoModem: Error {}
        let error = try await failure(of: server.url("/file"), FailingConnector(error: NoModem()))
        #expect(error.code == .cannotConnectToHost)
        #expect(error.failingURL == server.url("/file"))
        #expect(error.userInfo[NSUnderlyingErrorKey] is NoModem)
        #expect((error as NSError).localizedFailureReason == "The connector made no connection: NoModem().")
    }

    @Test("A descriptor that is no connected stream socket is an error", arguments: BadDescriptor.allCases)
    func badDescriptors(_ bad: BadDescriptor) async throws {
        let connector = AnyConnector { _ in .descriptor(bad.make()) }
        let error = try await failure(of: server.url("/file"), connector)
        #expect(error.code == .cannotConnectToHost)
        let reason = try #require((error as NSError).localizedFailureReason)
        #expect(reason.hasPrefix("The connector returned an unusable connection: the descriptor"))
        #expect(reason.hasSuffix(bad.reason))
    }

    @Test("A task that is cancelled cancels it, and what it returns nonetheless is closed", arguments: [true, false])
    func cancelling(isDescriptor: Bool) async throws {
        let (calls, called) = AsyncStream.makeStream(of: Void.self)
        let (near, far) = try SocketPair.make()
        let transport = ClosableTransport()
        let connector = AnyConnector { _ in
            called.yield()
            // Ends when the task is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            #expect(Task.isCancelled)
            return isDescriptor ? .descriptor(near) : .transport(transport)
        }
        let session = session(witness, connector)
        let task = session.dataTask(with: server.url("/file")).resumed()
        for await _ in calls { break }
        task.cancel()
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
        if isDescriptor {
            // The end of the stream comes when the other end has been closed.
            let count = await onOwnThread {
                var byte: UInt8 = 0
                return recv(far, &byte, 1, 0)
            }
            #expect(count == 0)
        } else {
            await transport.closed()
            close(near)
        }
        close(far)
    }

    @Test("A session that waits for connectivity asks it again after an error that may pass, and only then")
    func connectivity() async throws {
        let attempts = LockedValue(0)
        let connector = AnyConnector { [connector = server.connector] request in
            let attempt = attempts.withLock { number in
                number += 1
                return number
            }
            if attempt < 3 { throw URLError(.notConnectedToInternet) }
            return try await connector.connect(request)
        }
        let clock = ManualClock()
        let waiting = session(witness, connector) {
            $0.waitsForConnectivity = true
            $0.clock = clock
            $0.timeoutIntervalForRequest = 0
        }
        waiting.dataTask(with: server.url("/file")).resume()
        await witness.wait { $0.contains(.waiting) }
        // The pauses are 1 and 2 seconds. Any time may pass while an attempt is made.
        await NetworkThread.settle {
            clock.advance(by: .milliseconds(10))
            return attempts.withLock { $0 } == 3
        }
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        waiting.invalidateAndCancel()

        let failing = session(nil, FailingConnector(error: URLError(.userAuthenticationRequired))) {
            $0.waitsForConnectivity = true
        }
        let error = try await #require(throws: URLError.self) { try await failing.data(from: server.url("/file")) }
        #expect(error.code == .userAuthenticationRequired)
    }

    @Test("Connecting is the connector's time in the metrics, and the addresses are the transport's")
    func metrics() async throws {
        let tcp = try LoopbackServer()
        tcp.route("/file", .text("content"))
        let session = session(witness, SystemConnector())
        session.dataTask(with: tcp.url("/file")).resume()
        await witness.completion()
        let transaction = try #require(witness.metrics.first?.transactionMetrics.first)
        #expect(transaction.domainLookupStartDate == nil)
        let start = try #require(transaction.connectStartDate)
        let end = try #require(transaction.connectEndDate)
        #expect(start <= end && end <= transaction.requestStartDate ?? .distantPast)
        #expect(transaction.remoteAddress == "127.0.0.1")
        #expect(transaction.remotePort == "\(tcp.port)")
    }

    @Test("SystemConnector connects to another host, over which the connector speaks first")
    func system() async throws {
        let relay = try await RawListener.started { peer in
            #expect(await peer.bytes(19) == Data("to server.test:80\r\n".utf8))
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nrelay")
            _ = await peer.rest()
        }
        let connector = AnyConnector { request in
            let relay = ConnectionRequest(scheme: "tcp", host: "127.0.0.1", port: Int(relay.port))
            let connected = try await SystemConnector().connect(relay)
            guard case .descriptor(let socket) = connected else { return connected }
            let greeting = Array("to \(request.host):\(request.port)\r\n".utf8)
            #expect(write(socket, greeting, greeting.count) == greeting.count)
            return connected
        }
        let session = session(nil, connector)
        let url = try #require(URL(string: "http://server.test/"))
        #expect(try await session.data(from: url).0 == Data("relay".utf8))
    }

    @Test("SystemConnector fails as a session does", arguments: [false, true])
    func systemFailure(isLocal: Bool) async throws {
        let port = try DeadPort()
        let request = ConnectionRequest(
            scheme: "http", host: isLocal ? "/nowhere/socket" : "127.0.0.1", port: isLocal ? 0 : Int(port.number))
        let error = try await #require(throws: URLError.self) { try await SystemConnector().connect(request) }
        #expect(error.code == .cannotConnectToHost)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == NSPOSIXErrorDomain)
        let bad = ConnectionRequest(scheme: "http", host: "127.0.0.1", port: 70_000)
        let refusal = try await #require(throws: URLError.self) { try await SystemConnector().connect(bad) }
        #expect(refusal.code == .badURL)
    }

    @Test("The streams of a connection without a socket cannot be captured")
    func capturing() async throws {
        server.stream(.listening)
        let session = session(witness, server.connector)
        let task = session.streamTask(withHostName: "stream.test", port: 7).resumed()
        task.captureStreams()
        await witness.completion()
        #expect(witness.events.last == .completed(.resourceUnavailable))
        let reason = (task.error as NSError?)?.localizedFailureReason
        #expect(
            reason == "The connection's streams cannot be captured: it is carried by a transport that is not a socket.")
    }
}

/// Something that is an `Int32` and no connection.
enum BadDescriptor: CaseIterable, Sendable {
    case negative, closed, file, datagram, unconnected

    func make() -> Int32 {
        switch self {
        case .negative: -1
        case .closed: 1 << 20
        case .file: open("/dev/null", O_RDONLY | O_CLOEXEC)
        case .datagram: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        case .unconnected: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        }
    }

    var reason: String {
        switch self {
        case .negative, .closed: "is not open."
        case .file: "is not a socket."
        case .datagram: "is a socket, but not one of streams."
        case .unconnected: "is a socket that is not connected."
        }
    }
}

/// A connector that runs a closure.
struct AnyConnector: Connector {
    private let body: @Sendable (ConnectionRequest) async throws -> ConnectedTransport

    init(_ body: @escaping @Sendable (ConnectionRequest) async throws -> ConnectedTransport) {
        self.body = body
    }

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport { try await body(request) }
}

struct FailingConnector: Connector {
    let error: any Error

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport { throw error }
}

/// A connector that records what it is asked for.
final class LoggedConnector: Connector {
    private let connector: any Connector
    private let log = Mutex<[ConnectionRequest]>([])

    init(_ connector: any Connector) {
        self.connector = connector
    }

    var requests: [ConnectionRequest] { log.withLock { $0 } }

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        log.withLock { $0.append(request) }
        return try await connector.connect(request)
    }
}

enum SocketPair {
    /// Two connected descriptors.
    static func make() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw POSIXError(.EIO) }
        return (ends[0], ends[1])
    }
}

/// A transport that only reports that it was closed.
private final class ClosableTransport: Transport {
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init() {
        (ends, end) = AsyncStream.makeStream()
    }

    func closed() async {
        for await _ in ends {}
    }

    func start(_ signal: TransportSignal) { Issue.record("started") }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? { nil }
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int { 0 }
    func finishWriting() {}
    func close() { end.finish() }
}
