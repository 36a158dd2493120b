extension SocketAddress {
    /// The address without port and scope, as the bytes of the wire: four, sixteen, or none for a path.
    package var bytes: [UInt8] {
        switch storage {
        case .ipv4(let address, _): withUnsafeBytes(of: address) { [UInt8]($0) }
        case .ipv6(let high, let low, _, _): withUnsafeBytes(of: (high, low)) { [UInt8]($0) }
        case .unix: []
        }
    }
}
