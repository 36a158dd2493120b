/// The shapes that the system calls take and give.
extension SocketAddress {
    /// The longest path that still leaves room for the NUL.
    static let maximumPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// An address that the system gave; nil for a family we do not speak, and for a Unix-domain socket without a name.
    init?(_ address: UnsafePointer<sockaddr>, length: Int) {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let inner = raw.loadUnaligned(as: sockaddr_in.self)
            storage = .ipv4(inner.sin_addr.s_addr, port: UInt16(bigEndian: inner.sin_port))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let inner = raw.loadUnaligned(as: sockaddr_in6.self)
            let halves = withUnsafeBytes(of: inner.sin6_addr) { bytes in
                (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            let port = UInt16(bigEndian: inner.sin6_port)
            storage = .ipv6(high: halves.0, low: halves.1, port: port, scope: inner.sin6_scope_id)
        case AF_UNIX:
            let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
            guard length > start else { return nil }
            let path = UnsafeRawBufferPointer(start: raw + start, count: length - start).prefix { $0 != 0 }
            guard !path.isEmpty else { return nil }
            storage = .unix(path: String(decoding: path, as: UTF8.self))
        default:
            return nil
        }
    }

    /// Lends the address in the system's shape.
    func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch storage {
        case .ipv4(let address, let port):
            var inner = sockaddr_in()
            inner.sin_family = sa_family_t(AF_INET)
            inner.sin_port = port.bigEndian
            inner.sin_addr.s_addr = address
            return Self.lend(&inner, body)
        case .ipv6(let high, let low, let port, let scope):
            var inner = sockaddr_in6()
            inner.sin6_family = sa_family_t(AF_INET6)
            inner.sin6_port = port.bigEndian
            inner.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &inner.sin6_addr) { bytes in
                bytes.storeBytes(of: high, as: UInt64.self)
                bytes.storeBytes(of: low, toByteOffset: 8, as: UInt64.self)
            }
            return Self.lend(&inner, body)
        case .unix(let path):
            var inner = sockaddr_un()
            inner.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &inner.sun_path) { bytes in
                // The last byte stays the NUL, whatever the length of the path.
                UnsafeMutableRawBufferPointer(rebasing: bytes.dropLast()).copyBytes(
                    from: path.utf8.prefix(bytes.count - 1))
            }
            return Self.lend(&inner, body)
        }
    }

    /// Asks `getsockname` or `getpeername`; nil when there is no such address.
    static func asking(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                call(address, &length) == 0 ? SocketAddress(address, length: Int(length)) : nil
            }
        }
    }

    private static func lend<Inner, Result>(
        _ inner: inout Inner, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &inner) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                body(address, socklen_t(MemoryLayout<Inner>.size))
            }
        }
    }
}
