/// An address that a stream socket can be bound or connected to: an IPv4 or IPv6 address with a port, or a Unix-domain path.
package struct SocketAddress: Sendable, Hashable {
    package enum Family: Sendable, Hashable {
        case ipv4, ipv6, unix
    }

    /// Addresses are kept as the bytes of the wire, whatever the machine's byte order.
    fileprivate enum Storage: Hashable, Sendable {
        case ipv4(UInt32, port: UInt16)
        case ipv6(high: UInt64, low: UInt64, port: UInt16, scope: UInt32)
        case unix(path: String)
    }

    private let storage: Storage

    private init(_ storage: Storage) {
        self.storage = storage
    }

    /// An address in digits: `127.0.0.1`, `::1`, `[::1]`, `fe80::1%eth0`. `nil` when `literal` is anything else.
    package init?(literal: String, port: UInt16) {
        if let storage = Storage(ipv4: literal, port: port) ?? Storage(ipv6: literal, port: port) {
            self.storage = storage
        } else {
            return nil
        }
    }

    /// An IPv4 address of fewer numbers than four, or with octal or hexadecimal ones: `127.1`, `0x7f000001`. The system's
    /// look-up of names takes these for addresses. `nil` when `text` is anything else.
    package init?(shortened text: String, port: UInt16) {
        var address = in_addr()
        // `inet_aton` ignores what follows a space.
        guard text.utf8.allSatisfy({ $0 > UInt8(ascii: " ") }), inet_aton(text, &address) != 0 else { return nil }
        storage = .ipv4(address.s_addr, port: port)
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

    /// `::1` and a port.
    static func loopback6(port: UInt16) -> SocketAddress {
        SocketAddress(.ipv6(high: 0, low: UInt64(1).bigEndian, port: port, scope: 0))
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

extension SocketAddress {
    /// The address without port and scope, as the bytes of the wire: four, sixteen, or none for a path.
    package var bytes: [UInt8] {
        switch storage {
        case .ipv4(let address, _): withUnsafeBytes(of: address) { [UInt8]($0) }
        case .ipv6(let high, let low, _, _): withUnsafeBytes(of: (high, low)) { [UInt8]($0) }
        case .unix: []
        }
    }

    /// Whether both are the same IP address. When it is so for the two ends of a connection, they are on one machine.
    func isSameHost(as other: SocketAddress) -> Bool {
        family == other.family && family != .unix && bytes == other.bytes
    }
}

extension SocketAddress.Storage {
    /// Four decimal numbers with dots between them, and nothing else.
    init?(ipv4 text: String, port: UInt16) {
        var address: UInt32 = 0
        guard Self.parse(text, family: AF_INET, into: &address) else { return nil }
        self = .ipv4(address, port: port)
    }

    /// RFC 4291 §2.2, with or without brackets, and with a scope after `%` (RFC 4007 §11): an interface's name or number.
    init?(ipv6 text: String, port: UInt16) {
        var text = text[...]
        if text.first == "[", text.last == "]" { text = text.dropFirst().dropLast() }
        var scope: UInt32 = 0
        if let percent = text.firstIndex(of: "%") {
            let zone = String(text[text.index(after: percent)...])
            guard let number = Self.scope(named: zone) else { return nil }
            scope = number
            text = text[..<percent]
        }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        guard Self.parse(String(text), family: AF_INET6, into: &halves) else { return nil }
        self = .ipv6(high: halves.high, low: halves.low, port: port, scope: scope)
    }

    private static func parse<Bytes: BitwiseCopyable>(_ text: String, family: Int32, into bytes: inout Bytes) -> Bool {
        // A NUL would end the text early for `inet_pton`, which then takes it for something it is not.
        !text.utf8.contains(0) && inet_pton(family, text, &bytes) == 1
    }

    private static func scope(named zone: String) -> UInt32? {
        if zone.isEmpty || zone.utf8.contains(0) { return nil }
        if zone.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return UInt32(zone) }
        let index = if_nametoindex(zone)
        return index == 0 ? nil : index
    }
}

extension SocketAddress {
    /// The address in digits, or the path.
    var literal: String {
        switch storage {
        case .ipv4(var address, _): Self.text(of: &address, family: AF_INET)
        case .ipv6(let high, let low, _, let scope): Self.text(high, low) + Self.suffix(scope)
        case .unix(let path): path
        }
    }

    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        var halves = (high, low)
        return text(of: &halves, family: AF_INET6)
    }

    private static func text<Bytes: BitwiseCopyable>(of bytes: inout Bytes, family: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            inet_ntop(family, &bytes, buffer.baseAddress, 64).map { String(cString: $0) } ?? ""
        }
    }

    private static func suffix(_ scope: UInt32) -> String {
        if scope == 0 { return "" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            // The interface may be gone; its number still identifies it.
            if_indextoname(scope, buffer.baseAddress).map { "%" + String(cString: $0) } ?? "%\(scope)"
        }
    }
}

// MARK: The system's structures

extension SocketAddress {
    /// The longest path that still leaves room for the NUL.
    static let maximumPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// An address that the system returned; `nil` for an unknown family, and for a Unix-domain socket without a name.
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

    /// Calls `body` with the address as the system's structure.
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

    /// The address that `getsockname` or `getpeername` returns; `nil` when there is none.
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
