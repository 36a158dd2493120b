/// Why no connection was made.
package enum DialError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The endpoint has no address.
    case resolve(ResolveError)
    /// None of the addresses took the connection: each with its reason, in the order tried.
    case connect([ConnectFailure])

    package var description: String {
        switch self {
        case .resolve(let error): error.description
        case .connect(let failures): failures.map(\.description).joined(separator: "; ")
        }
    }
}

/// One address that did not take a connection.
package struct ConnectFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package let address: SocketAddress
    package let error: SystemError

    package init(address: SocketAddress, error: SystemError) {
        self.address = address
        self.error = error
    }

    package var description: String { "\(address): \(error)" }
}
