public import Foundation
internal import PurlIO

/// An HTTP/1.1 server on this machine's loopback interface that answers what its script says, and records what it was
/// asked.
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
    /// The TCP port; 0 for a Unix-domain socket.
    public let port: UInt16
    /// The server's root: `http://127.0.0.1:port/`, `http://[::1]:port/`, or `http+unix://PATH/` for a Unix-domain
    /// socket, its path percent-encoded.
    public let url: URL

    let recorder: Recorder
    let routes: RouteTable
    private let acceptor: Acceptor

    /// Starts a server. Blocks for the moment that takes.
    ///
    /// - Parameters:
    ///   - transport: What to listen on.
    ///   - port: The TCP port; 0 lets the system choose a free one.
    ///   - maximumRecordedBody: So many bytes of each request's body are kept; the rest is counted and dropped.
    ///   - recordsRequests: Whether ``requests`` are kept. Without, the server only counts, for long benchmarks.
    ///   - stream: What is done on each connection, without HTTP, from the first on; see ``stream(_:)``.
    /// - Throws: ``StartError`` when the address cannot be had.
    public convenience init(
        _ transport: Transport = .ipv4, port: UInt16 = 0, maximumRecordedBody: Int = 64 << 20,
        recordsRequests: Bool = true, stream: StreamScript? = nil
    ) throws(StartError) {
        let service = Service(maximumRecordedBody, recordsRequests, stream)
        let handoff = Handoff<Result<Acceptor, SystemError>>()
        NetworkActor.post { handoff.bring(Acceptor.listening(on: transport, port: port, service: service)) }
        try self.init(transport, service, handoff.take())
    }

    /// Starts a server without blocking a thread. See ``init(_:port:maximumRecordedBody:recordsRequests:stream:)``.
    public static func started(
        _ transport: Transport = .ipv4, port: UInt16 = 0, maximumRecordedBody: Int = 64 << 20,
        recordsRequests: Bool = true, stream: StreamScript? = nil
    ) async throws(StartError) -> LoopbackServer {
        let service = Service(maximumRecordedBody, recordsRequests, stream)
        return try LoopbackServer(
            transport, service, await Acceptor.listening(on: transport, port: port, service: service))
    }

    private init(
        _ transport: Transport, _ service: Service, _ result: Result<Acceptor, SystemError>
    ) throws(StartError) {
        let acceptor: Acceptor
        switch result {
        case .success(let listening): acceptor = listening
        case .failure(let error): throw StartError(code: error.code, description: "\(error)")
        }
        self.transport = transport
        self.acceptor = acceptor
        port = acceptor.address.port ?? 0
        recorder = service.recorder
        routes = service.routes
        let root =
            switch transport {
            case .ipv4: "http://127.0.0.1:\(port)/"
            case .ipv6: "http://[::1]:\(port)/"
            case .unix(let path):
                "http+unix://\(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")/"
            }
        url = URL(string: root) ?? URL(fileURLWithPath: "/")
    }

    deinit {
        let acceptor = acceptor
        NetworkActor.post { acceptor.stop() }
    }

    /// Stops listening and closes every connection; when this returns, the port refuses. Blocks for that moment.
    ///
    /// Further calls do nothing. What was recorded can still be read.
    public func stop() {
        let acceptor = acceptor
        let handoff = Handoff<Bool>()
        NetworkActor.post {
            acceptor.stop()
            handoff.bring(true)
        }
        _ = handoff.take()
    }

    /// Closes every connection and goes on listening: what a client sees when a server drops idle connections, or
    /// when it is started again. Answers under way end with ``Ending/serverStopped``.
    public func closeConnections() {
        let acceptor = acceptor
        let handoff = Handoff<Bool>()
        NetworkActor.post {
            acceptor.closeConnections(.serverStopped)
            handoff.bring(true)
        }
        _ = handoff.take()
    }

    /// The path of the Unix-domain socket, when the server listens on one.
    public var unixSocketPath: String? {
        switch transport {
        case .ipv4, .ipv6: nil
        case .unix(let path): path
        }
    }

    /// The URL of `path` (which begins with `/` and may have a query) on this server.
    public func url(_ path: String) -> URL {
        URL(string: path, relativeTo: url)?.absoluteURL ?? url.appendingPathComponent(path)
    }

    // MARK: Routes

    /// Answers requests for `path` with `reply` from now on, and counts its answers from 0.
    ///
    /// `path` is compared with the request's path as it is on the wire, without query and without percent-decoding.
    /// A route for a method goes before one for any (`method` nil). Requests without a route get the fallback.
    ///
    /// - Returns: The route's URL.
    @discardableResult
    public func route(_ path: String, method: String? = nil, _ reply: Reply) -> URL {
        routes.set(reply, path: path, method: method)
        return url(path)
    }

    /// Answers all requests that no route is for. Without a fallback they get a `404`.
    public func fallback(_ reply: Reply) {
        routes.setFallback(reply)
    }

    /// Removes a route.
    public func removeRoute(_ path: String, method: String? = nil) {
        routes.remove(path: path, method: method)
    }
}

extension Service {
    fileprivate init(_ maximumRecordedBody: Int, _ recordsRequests: Bool, _ stream: StreamScript?) {
        routes = RouteTable()
        routes.setStream(stream)
        recorder = Recorder(keepsRequests: recordsRequests)
        self.maximumRecordedBody = maximumRecordedBody
    }
}

extension Acceptor {
    fileprivate static func listening(
        on transport: LoopbackServer.Transport, port: UInt16, service: Service
    ) -> Result<Acceptor, SystemError> {
        Result { () throws(SystemError) -> Acceptor in
            switch transport {
            case .ipv4:
                return try Acceptor(.loopback(port: port), service: service)
            case .ipv6:
                guard let address = SocketAddress(literal: "::1", port: port) else {
                    throw SystemError(code: EAFNOSUPPORT, operation: "socket")
                }
                return try Acceptor(address, service: service)
            case .unix(let path):
                return try Acceptor(SocketAddress(unixPath: path), service: service)
            }
        }
    }
}
