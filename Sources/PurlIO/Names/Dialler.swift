/// Makes connections.
package protocol Dialler: Sendable {
    /// Makes a connection to `endpoint`; `completion` is called once, on the network thread, never within this call, and
    /// never after the dial was cancelled.
    @NetworkActor func dial(
        _ endpoint: Endpoint, completion: @escaping @NetworkActor (Result<any Transport, DialError>) -> Void
    ) -> Dial
}

/// The live dialler: connects over the network, or to a socket of this machine.
package struct NetworkDialler: Dialler {
    private let resolver: any Resolver
    private let isMultipath: Bool

    /// - Parameter isMultipath: Whether connections may use several paths; see ``Dial``.
    package init(resolver: any Resolver, isMultipath: Bool = false) {
        self.resolver = resolver
        self.isMultipath = isMultipath
    }

    package func dial(
        _ endpoint: Endpoint, completion: @escaping @NetworkActor (Result<any Transport, DialError>) -> Void
    ) -> Dial {
        Dial(to: endpoint, resolver: resolver, isMultipath: isMultipath, completion: completion)
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

    package var description: String {
        switch self {
        case .resolve(let error): error.description
        case .connect(let failures): failures.map(\.description).joined(separator: "; ")
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
