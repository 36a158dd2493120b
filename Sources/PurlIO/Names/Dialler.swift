/// Makes connections.
package protocol Dialler: Sendable {
    /// Makes a connection to `endpoint`; `completion` is called once, on the network thread, never within this call, and
    /// never after the dial was cancelled.
    @NetworkActor func dial(
        _ endpoint: Endpoint, for purpose: DialPurpose,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) -> any Dial
}

/// A connection that is being made.
@NetworkActor package protocol Dial: AnyObject, Sendable {
    /// When each step so far happened.
    var times: DialTimes { get }

    /// Reports each step to `observer`. There is none before the loop's next turn.
    func observe(_ observer: @escaping DialObserver)

    /// Ends it, and drops the completion. Has no effect when the dial is over.
    func cancel()
}

/// Receives the steps of a dial.
package typealias DialObserver = @NetworkActor (DialStep) -> Void

/// A step of a dial to a name.
package enum DialStep: Sendable, Hashable {
    /// The name is looked up.
    case lookUp(host: String)
    /// It has these addresses; none where the look-up has failed.
    case resolved([SocketAddress])
}

/// What a connection is for.
package struct DialPurpose: Sendable, Hashable {
    /// What will be spoken; see ``ConnectionRequest/scheme``.
    package let scheme: String
    /// How long the caller is going to wait; `nil` for no limit that is known.
    package let timeLimit: Duration?

    package init(scheme: String, timeLimit: Duration? = nil) {
        self.scheme = scheme
        self.timeLimit = timeLimit
    }
}

/// The live dialler: connects over the network, or to a socket of this machine.
package struct NetworkDialler: Dialler {
    private let resolver: any Resolver
    private let sockets: SocketOptions

    package init(resolver: any Resolver, sockets: SocketOptions = SocketOptions()) {
        self.resolver = resolver
        self.sockets = sockets
    }

    package func dial(
        _ endpoint: Endpoint, for purpose: DialPurpose,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) -> any Dial {
        NetworkDial(to: endpoint, resolver: resolver, sockets: sockets, completion: completion)
    }
}

/// What a connection is made to.
package enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A name or an address in digits, and a port.
    case host(String, port: UInt16)
    /// A Unix-domain socket.
    case unix(path: String)

    /// `example.com:80`, `[::1]:80`, or the path.
    package var description: String {
        switch self {
        case .host(let host, let port):
            host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        }
    }
}

/// Why no connection was made.
package enum DialError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The endpoint has no address.
    case resolve(ResolveError)
    /// No address accepted the connection: each with its error, in the order in which they were tried.
    case connect([ConnectFailure])
    /// The program's connector has failed with this error.
    case connector(ThrownError)
    /// What the program's connector has connected is not a connection.
    case unusable(UnusableDescriptor)

    package var description: String {
        switch self {
        case .resolve(let error): error.description
        case .connect(let failures): failures.map(\.description).joined(separator: "; ")
        case .connector(let error): error.description
        case .unusable(let reason): reason.description
        }
    }
}

/// One address that could not be connected to.
package struct ConnectFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package let address: SocketAddress
    package let error: SystemError

    package init(address: SocketAddress, error: SystemError) {
        self.address = address
        self.error = error
    }

    package var description: String { "\(address): \(error)" }
}
