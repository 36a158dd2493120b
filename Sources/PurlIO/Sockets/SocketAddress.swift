/// Where a stream socket can be bound or connected: an IPv4 or IPv6 address with a port, or a Unix-domain path.
package struct SocketAddress: Sendable, Hashable {
    package enum Family: Sendable, Hashable {
        case ipv4, ipv6, unix
    }

    /// Addresses are kept as the bytes of the wire, whatever the machine's byte order.
    enum Storage: Hashable, Sendable {
        case ipv4(UInt32, port: UInt16)
        case ipv6(high: UInt64, low: UInt64, port: UInt16, scope: UInt32)
        case unix(path: String)
    }

    let storage: Storage

    init(_ storage: Storage) {
        self.storage = storage
    }

    /// An address in digits: `127.0.0.1`, `::1`, `[::1]`, `fe80::1%eth0`. Nil when `literal` is anything else.
    package init?(literal: String, port: UInt16) {
        if let storage = Storage(ipv4: literal, port: port) ?? Storage(ipv6: literal, port: port) {
            self.storage = storage
        } else {
            return nil
        }
    }

    /// A Unix-domain socket's path. Throws `ENAMETOOLONG` when the system cannot hold it, `EINVAL` when it is empty or
    /// has a NUL in it.
    package init(unixPath: String) throws(SystemError) {
        if unixPath.isEmpty || unixPath.utf8.contains(0) {
            throw SystemError(code: EINVAL, operation: "unix path")
        }
        if unixPath.utf8.count > Self.maximumPathLength {
            throw SystemError(code: ENAMETOOLONG, operation: "unix path")
        }
        storage = .unix(path: unixPath)
    }

    /// `127.0.0.1` and a port; port 0 lets the system choose one.
    package static func loopback(port: UInt16) -> SocketAddress {
        SocketAddress(.ipv4(UInt32(0x7F00_0001).bigEndian, port: port))
    }

    package var family: Family {
        switch storage {
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        case .unix: .unix
        }
    }

    /// The port; nil for a path.
    package var port: UInt16? {
        switch storage {
        case .ipv4(_, let port), .ipv6(_, _, let port, _): port
        case .unix: nil
        }
    }

    /// The address in digits, an IPv6 one without brackets and with its scope, if any; nil for a path.
    package var host: String? {
        switch storage {
        case .ipv4, .ipv6: literal
        case .unix: nil
        }
    }

    /// The same address with another port. A path has none and stays as it is.
    package func withPort(_ port: UInt16) -> SocketAddress {
        switch storage {
        case .ipv4(let address, _): SocketAddress(.ipv4(address, port: port))
        case .ipv6(let high, let low, _, let scope):
            SocketAddress(.ipv6(high: high, low: low, port: port, scope: scope))
        case .unix: self
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `127.0.0.1:80`, `[::1]:80`, or the path.
    package var description: String {
        switch storage {
        case .ipv4(_, let port): "\(literal):\(port)"
        case .ipv6(_, _, let port, _): "[\(literal)]:\(port)"
        case .unix(let path): path
        }
    }
}
