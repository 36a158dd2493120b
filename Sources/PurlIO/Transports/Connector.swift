/// Makes the connections of a session in place of the system's sockets.
///
/// A connector returns a stream to the host that it is given; TLS, tunnels through proxies and HTTP are Purl's part. It is
/// set in `URLSessionConfiguration.connector`.
public protocol Connector: Sendable {
    /// Connects.
    ///
    /// Called in a task of its own, outside the network thread. The task is cancelled when the connection is no longer
    /// wanted; what is returned after that is closed. An error that is a `URLError` is the transfer's error; any other
    /// becomes `URLError.cannotConnectToHost`, with itself as the underlying error. A session that waits for connectivity
    /// asks again after a `URLError` of the network's, such as `.cannotConnectToHost`, and not after another error, nor when
    /// the POSIX error beneath is one of this process, such as `EACCES`.
    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport
}

/// What a connector is to connect to.
public struct ConnectionRequest: Sendable, Hashable {
    /// What will be spoken: the scheme of the URL, in small letters, `tcp` for a stream task, `http` for an HTTP proxy and
    /// `socks5` for a SOCKS proxy.
    public let scheme: String
    /// The name or the address in digits of the host, without brackets; the path of a local socket.
    public let host: String
    /// The port; 0 for a local socket.
    public let port: Int
    /// When the request's time-out passes; `nil` where it has none.
    public let deadline: ContinuousClock.Instant?

    public init(scheme: String, host: String, port: Int, deadline: ContinuousClock.Instant? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.deadline = deadline
    }
}

/// What a connector has connected.
public enum ConnectedTransport: Sendable {
    /// The descriptor of a connected stream socket of any family. It belongs to Purl from then on, which makes it
    /// non-blocking, moves content between it and files without a copy, and closes it. One that is not open, no stream socket
    /// or not connected fails the transfer with `URLError.cannotConnectToHost`.
    case descriptor(Int32)
    /// A stream that is not a socket.
    case transport(any Transport)
}

/// Looks up the addresses of hosts in place of the system's resolver. It is set in `URLSessionConfiguration.resolver`.
public protocol HostResolver: Sendable {
    /// The addresses of `host` in digits, in the order in which to try them; none when there is no such name.
    ///
    /// Called in a task of its own, outside the network thread, which is cancelled when the addresses are no longer wanted.
    /// An error that is a `URLError` is the transfer's error; any other becomes `URLError.dnsLookupFailed`.
    func addresses(of host: String) async throws -> [String]
}
