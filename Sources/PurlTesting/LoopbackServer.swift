public import Foundation
public import PurlIO
import Synchronization

/// An HTTP/1.1 server on this machine's loopback interface, or in memory, that sends scripted replies, and records the requests it
/// receives.
///
/// ```swift
/// let server = try LoopbackServer()
/// let url = server.route("/file", .generated(size: 64 << 20).entityTag("\"v1\"").cut(afterBytes: 1_000_000, times: 2))
/// // … fetch url …
/// #expect(server.requests.map(\.ending) == [.cut, .cut, .complete])
/// ```
///
/// A server listens from its creation until ``stop()`` or until it is released. Everything here can be called from any
/// thread. Any number of servers can run at the same time; they share one I/O thread.
public final class LoopbackServer: Sendable {
    /// What the server listens on.
    public enum Transport: Sendable, Hashable {
        /// TCP on 127.0.0.1.
        case ipv4
        /// TCP on ::1.
        case ipv6
        /// A Unix-domain socket at this path, which must not exist yet and is removed when the server stops.
        case unix(path: String)
        /// Nothing: clients connect in memory, with ``LoopbackServer/connector``, and no socket is used.
        case memory
    }

    /// Why a server could not start.
    public struct StartError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The POSIX error number.
        public let code: Int32
        /// What failed, in words.
        public let description: String
    }

    /// What the server listens on.
    public let transport: Transport
    /// The TCP port; 0 for a Unix-domain socket. A server in memory has a number of its own, so that it is an origin of its
    /// own.
    public let port: UInt16
    /// The server's root: `http://127.0.0.1:port/`, `http://[::1]:port/`, `http+unix://PATH/` for a Unix-domain socket, its
    /// path percent-encoded, or `http://in-memory.test:port/`. Of a server with TLS: `https://` or `https+unix://`.
    public let url: URL

    private let recorder: Recorder
    private let routes: RouteTable
    private let acceptor: Acceptor
    private let tls: ServerTLSContext?
    private let context: ServerContext
    /// What else the server listens on.
    private let entrances = Mutex<[Acceptor]>([])

    /// Starts a server. Blocks the thread until it listens.
    ///
    /// - Parameters:
    ///   - transport: What to listen on.
    ///   - port: The TCP port; 0 lets the system choose a free one.
    ///   - maximumRecordedBody: How many bytes of each request's body are kept; the rest is counted and dropped.
    ///   - recordsRequests: Whether ``requests`` are kept. Without, the server only counts, for long benchmarks.
    ///   - stream: What to do on every connection in place of HTTP; see ``stream(_:)``.
    ///   - tls: How to speak TLS; `nil` for a server in the open. See <doc:Test-https-offline>.
    /// - Throws: ``StartError`` when the server cannot listen at the address, or there is no OpenSSL for TLS.
    public convenience init(
        _ transport: Transport = .ipv4, port: UInt16 = 0, maximumRecordedBody: Int = 64 << 20,
        recordsRequests: Bool = true, stream: StreamScript? = nil, tls: ServerTLS? = nil
    ) throws(StartError) {
        let context = ServerContext(maximumRecordedBody, recordsRequests, stream)
        let tls = try LoopbackServer.context(of: tls)
        let result = LoopbackServer.onNetworkThread {
            Acceptor.listening(on: transport, port: port, context: context, tls)
        }
        try self.init(transport, port, context, tls, result)
    }

    /// Starts a server that speaks TLS, with a certificate of an authority. Blocks the thread until it listens.
    ///
    /// ```swift
    /// let server = try LoopbackServer(tls: TestAuthority())
    /// ```
    ///
    /// - Parameters:
    ///   - transport: What to listen on.
    ///   - port: The TCP port; 0 lets the system choose a free one.
    ///   - authority: Who issues the server's certificate.
    ///   - certificate: The server's certificate.
    /// - Throws: ``StartError`` when the server cannot listen at the address, or there is no OpenSSL.
    public convenience init(
        _ transport: Transport = .ipv4, port: UInt16 = 0, tls authority: TestAuthority,
        certificate: TestCertificate = .valid
    ) throws(StartError) {
        try self.init(transport, port: port, tls: ServerTLS(authority, certificate))
    }

    /// Starts a server without blocking a thread.
    ///
    /// - Parameters:
    ///   - transport: What to listen on.
    ///   - port: The TCP port; 0 lets the system choose a free one.
    ///   - maximumRecordedBody: How many bytes of each request's body are kept; the rest is counted and dropped.
    ///   - recordsRequests: Whether ``requests`` are kept. Without, the server only counts, for long benchmarks.
    ///   - stream: What to do on every connection in place of HTTP; see ``stream(_:)``.
    ///   - tls: How to speak TLS; `nil` for a server in the open. See <doc:Test-https-offline>.
    /// - Throws: ``StartError`` when the server cannot listen at the address, or there is no OpenSSL for TLS.
    public static func started(
        _ transport: Transport = .ipv4, port: UInt16 = 0, maximumRecordedBody: Int = 64 << 20,
        recordsRequests: Bool = true, stream: StreamScript? = nil, tls: ServerTLS? = nil
    ) async throws(StartError) -> LoopbackServer {
        let context = ServerContext(maximumRecordedBody, recordsRequests, stream)
        let tls = try LoopbackServer.context(of: tls)
        return try LoopbackServer(
            transport, port, context, tls,
            await Acceptor.listening(on: transport, port: port, context: context, tls))
    }

    private init(
        _ transport: Transport, _ port: UInt16, _ context: ServerContext, _ tls: ServerTLSContext?,
        _ result: Result<Acceptor, SystemError>
    ) throws(StartError) {
        let acceptor = try Self.acceptor(result)
        self.transport = transport
        self.acceptor = acceptor
        self.tls = tls
        self.context = context
        self.port = acceptor.address.map { $0.port ?? 0 } ?? (port > 0 ? port : MemoryPort.next())
        recorder = context.recorder
        routes = context.routes
        url = Self.root(of: transport, port: self.port, isSecure: tls != nil)
    }

    deinit {
        let acceptors = acceptors
        NetworkActor.post { for acceptor in acceptors { acceptor.stop() } }
    }

    private var acceptors: [Acceptor] { [acceptor] + entrances.withLock { $0 } }

    private static func acceptor(_ result: Result<Acceptor, SystemError>) throws(StartError) -> Acceptor {
        switch result {
        case .success(let acceptor): return acceptor
        case .failure(let error): throw StartError(code: error.code, description: "\(error)")
        }
    }

    private static func context(of tls: ServerTLS?) throws(StartError) -> ServerTLSContext? {
        guard let tls else { return nil }
        do throws(TestAuthority.Failure) {
            return try ServerTLSContext(tls)
        } catch {
            throw StartError(code: EPROTONOSUPPORT, description: error.description)
        }
    }

    private static func root(of transport: Transport, port: UInt16, isSecure: Bool) -> URL {
        let scheme = isSecure ? "https" : "http"
        let root =
            switch transport {
            case .ipv4: "\(scheme)://127.0.0.1:\(port)/"
            case .ipv6: "\(scheme)://[::1]:\(port)/"
            case .memory: "\(scheme)://in-memory.test:\(port)/"
            case .unix(let path):
                "\(scheme)+unix://\(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")/"
            }
        return URL(string: root) ?? URL(fileURLWithPath: "/")
    }

    /// Serves the same routes at another address, over TLS, and records the requests with the others: as a site does that
    /// answers to `http` and to `https`. Blocks the thread until it listens.
    ///
    /// - Parameters:
    ///   - transport: What to listen on, besides; in memory there is ``connector(tls:)``.
    ///   - port: The TCP port; 0 lets the system choose a free one.
    ///   - tls: How to speak TLS there.
    /// - Returns: The root there: `https://127.0.0.1:port/`.
    /// - Throws: ``StartError`` when the server cannot listen at the address, or there is no OpenSSL.
    @discardableResult
    public func listen(
        _ transport: Transport = .ipv4, port: UInt16 = 0, tls: ServerTLS
    ) throws(StartError) -> URL {
        let context = context
        let tls = try Self.context(of: tls)
        let result = Self.onNetworkThread {
            Acceptor.listening(on: transport, port: port, context: context, tls)
        }
        let acceptor = try Self.acceptor(result)
        entrances.withLock { $0.append(acceptor) }
        return Self.root(of: transport, port: acceptor.address.flatMap(\.port) ?? self.port, isSecure: true)
    }

    /// Stops listening and closes every connection. Blocks the thread until new connections are refused.
    ///
    /// On Linux the system gives the server's port to no other program that asks for a free one as long as this object exists,
    /// so that connections are refused all that time. A new server can be started with this port.
    ///
    /// Further calls do nothing. The record can still be read.
    public func stop() {
        let acceptors = acceptors
        Self.onNetworkThread { for acceptor in acceptors { acceptor.stop() } }
    }

    /// Closes every connection and continues to listen: what a client sees when a server drops idle connections, or when
    /// it is restarted. Pending responses end with ``Ending/serverStopped``. Blocks the thread until it is done.
    public func closeConnections() {
        let acceptors = acceptors
        Self.onNetworkThread { for acceptor in acceptors { acceptor.closeConnections(.serverStopped) } }
    }

    /// Runs `body` on the network thread, and blocks this one until it returns.
    private static func onNetworkThread<Result: Sendable>(
        _ body: @escaping @Sendable @NetworkActor () -> Result
    ) -> Result {
        if let machine = Simulated.machine { return machine.asNetworkThread(body) }
        let promise = BlockingPromise<Result>()
        NetworkActor.post { promise.fulfill(body()) }
        return promise.wait()
    }

    /// Calls `observer` with everything that happens from now on, in order, on the server's thread, which it must not block.
    ///
    /// With a `TransferTrace` of Purl both sides of the wire are in one trace:
    ///
    /// ```swift
    /// server.observe { trace.note("\($0)", in: .server) }
    /// ```
    ///
    /// - Parameter observer: What is called; `nil` ends it.
    public func observe(_ observer: (@Sendable (ServerEvent) -> Void)?) {
        recorder.observe(observer)
    }

    /// Keeps from now on what is replied, for ``script(title:)``.
    package func keepReplies() {
        routes.keepReplies()
    }

    /// A ``ServerScript`` with which `purl serve` replies to the same requests in the same way; `nil` without requests, or where
    /// scripts have no words for a reply.
    ///
    /// - Parameter title: What it is about, on one line.
    package func script(title: String) -> String? {
        ScriptWriter.script(title, requests, routes.given)
    }

    /// The path of the Unix-domain socket, when the server listens on one.
    public var unixSocketPath: String? {
        switch transport {
        case .ipv4, .ipv6, .memory: nil
        case .unix(let path): path
        }
    }

    /// The URL of a path on this server.
    ///
    /// - Parameter path: Begins with `/`, and may have a query.
    public func url(_ path: String) -> URL {
        URL(string: path, relativeTo: url)?.absoluteURL ?? url.appendingPathComponent(path)
    }

    /// Connects to this server in memory, without a socket, whatever the host and port of the request. Also when the server
    /// listens on a socket.
    ///
    /// ```swift
    /// let server = try LoopbackServer(.memory)
    /// configuration.connector = server.connector
    /// ```
    ///
    /// A connection holds 64 KiB in each direction that have not been read, and ends as one of TCP does. Once the server has
    /// stopped it refuses connections.
    public var connector: any Connector { MemoryConnector(acceptor: acceptor, tls: tls, plainScheme: nil) }

    /// Connects to this server in memory, as ``connector`` does, and over TLS unless the request's scheme is `http`: as to a
    /// site that answers to both.
    ///
    /// - Parameter tls: How to speak TLS.
    /// - Throws: ``StartError`` when there is no OpenSSL.
    public func connector(tls: ServerTLS) throws(StartError) -> any Connector {
        MemoryConnector(acceptor: acceptor, tls: try Self.context(of: tls), plainScheme: "http")
    }

    /// Serves a connection that a simulated network has made.
    @NetworkActor package func accept(_ transport: any LoopTransport) {
        acceptor.accept(transport, tls)
    }

    // MARK: Routes

    /// Sets what the server replies to requests for a path, and counts the route's responses from 0.
    ///
    /// Requests without a route get the fallback.
    ///
    /// - Parameters:
    ///   - path: Compared with the request's path as it is on the wire, without query and without percent-decoding.
    ///   - method: The requests' method; `nil` for all methods that have no route of their own.
    ///   - reply: What to reply.
    /// - Returns: The route's URL.
    @discardableResult
    public func route(_ path: String, method: String? = nil, _ reply: Reply) -> URL {
        routes.set(reply, path: path, method: method)
        return url(path)
    }

    /// Sets what the server replies to requests without a route. Without a fallback they get a `404`.
    ///
    /// - Parameter reply: What to reply.
    public func fallback(_ reply: Reply) {
        routes.setFallback(reply)
    }

    /// Sets the routes of a script, and counts their requests from 0. Other routes stay.
    ///
    /// - Parameter script: What to serve.
    public func load(_ script: ServerScript) {
        for route in script.routes { routes.set(route) }
    }

    /// Removes a route.
    ///
    /// - Parameters:
    ///   - path: The route's path.
    ///   - method: The route's method, if it has one.
    public func removeRoute(_ path: String, method: String? = nil) {
        routes.remove(path: path, method: method)
    }

    /// Sets what the server does, in place of HTTP, on connections that are accepted from now on.
    ///
    /// - Parameter script: What to do on each connection; `nil` for HTTP.
    public func stream(_ script: StreamScript?) {
        routes.setStream(script)
    }

    // MARK: What the server received

    /// What has happened so far.
    public var record: Record { recorder.record.value }

    /// The requests so far, in the order in which their heads arrived, with how far their responses are.
    public var requests: [ReceivedRequest] { recorder.record.read(\.requests) }

    /// The WebSocket connections so far, in the order in which they were accepted.
    public var webSockets: [ReceivedWebSocket] { recorder.record.read(\.webSockets) }

    /// The connections without HTTP so far, in the order in which they were accepted.
    public var streams: [ReceivedStream] { recorder.record.read(\.streams) }

    /// The finished handshakes of TLS so far.
    public var handshakes: [ReceivedHandshake] { recorder.record.read(\.handshakes) }

    /// How many connections are open now.
    public var openConnections: Int { recorder.record.read(\.openConnections) }

    /// How many connections have been accepted.
    public var acceptedConnections: Int { recorder.record.read(\.acceptedConnections) }

    /// Drops the requests and handshakes recorded so far, so that the next one is `requests[0]`. Their numbers continue.
    public func forgetRequests() {
        recorder.forgetRequests()
    }

    /// Removes the requests whose responses have ended from ``requests`` and returns them: what a program that logs them
    /// calls, so that they do not add up.
    public func takeEndedRequests() -> [ReceivedRequest] {
        recorder.takeEndedRequests()
    }

    /// Returns the requests so far as soon as `count` of them have arrived, bodies included.
    ///
    /// Returns early when the calling task is cancelled.
    ///
    /// - Parameter count: How many requests to wait for, those that have arrived already included.
    /// - Returns: The requests so far.
    @discardableResult
    public func waitForRequests(_ count: Int) async -> [ReceivedRequest] {
        await recorder.record.wait { $0.completeRequests >= count }
        return requests
    }

    /// Returns the requests so far as soon as every response is complete.
    ///
    /// Returns early when the calling task is cancelled.
    ///
    /// - Returns: The requests so far.
    @discardableResult
    public func waitUntilIdle() async -> [ReceivedRequest] {
        await recorder.record.wait { $0.unansweredRequests == 0 }
        return requests
    }

    /// Returns as soon as no connection is open, or when the calling task is cancelled.
    public func waitUntilDisconnected() async {
        await recorder.record.wait { $0.openConnections == 0 }
    }

    /// Returns as soon as a condition holds: that a stalled response has sent so many bytes, that so much of an upload
    /// has arrived, and the like.
    ///
    /// ```swift
    /// await server.wait { $0.requests.last?.bytesSent == 1000 }
    /// ```
    ///
    /// Returns early when the calling task is cancelled.
    ///
    /// - Parameter condition: Called with what has happened so far, after each change.
    public func wait(until condition: @Sendable (Record) -> Bool) async {
        while !Task.isCancelled {
            let record = recorder.record.value
            if condition(record) { return }
            let seen = record.version
            await recorder.record.wait { $0.version != seen }
        }
    }
}

extension ServerContext {
    fileprivate init(_ maximumRecordedBody: Int, _ recordsRequests: Bool, _ stream: StreamScript?) {
        routes = RouteTable()
        routes.setStream(stream)
        recorder = Recorder(keepsRequests: recordsRequests)
        self.maximumRecordedBody = maximumRecordedBody
    }
}

extension Acceptor {
    fileprivate static func listening(
        on transport: LoopbackServer.Transport, port: UInt16, context: ServerContext, _ tls: ServerTLSContext?
    ) -> Result<Acceptor, SystemError> {
        Result { () throws(SystemError) -> Acceptor in
            switch transport {
            case .ipv4:
                return try Acceptor(.loopback(port: port), context: context, tls: tls)
            case .ipv6:
                guard let address = SocketAddress(literal: "::1", port: port) else {
                    throw SystemError(code: EAFNOSUPPORT, operation: "socket")
                }
                return try Acceptor(address, context: context, tls: tls)
            case .unix(let path):
                return try Acceptor(SocketAddress(unixPath: path), context: context, tls: tls)
            case .memory:
                return Acceptor(context: context)
            }
        }
    }
}

/// Connects to a server of this process.
private struct MemoryConnector: Connector {
    let acceptor: Acceptor
    let tls: ServerTLSContext?
    /// The scheme of connections in the open; `nil` where all are alike.
    let plainScheme: String?

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        guard let client = await acceptor.connect(tls: request.scheme == plainScheme ? nil : tls) else {
            throw URLError(.cannotConnectToHost, userInfo: [NSUnderlyingErrorKey: POSIXError(.ECONNREFUSED)])
        }
        return .transport(client)
    }
}

/// The port numbers of servers in memory.
private enum MemoryPort {
    private static let last = Atomic<UInt16>(10_000)

    static func next() -> UInt16 { max(1, last.wrappingAdd(1, ordering: .relaxed).newValue) }
}

/// A value that one thread waits for and another provides.
private final class BlockingPromise<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isFulfilled = DispatchSemaphore(value: 0)

    func fulfill(_ value: Value) {
        self.value.withLock { $0 = value }
        isFulfilled.signal()
    }

    /// Blocks the thread until there is a value.
    func wait() -> Value {
        while true {
            isFulfilled.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }
}
