/// Something to connect to.
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
