@testable import PurlIO

/// Places on this machine to connect to.
enum Loopback {
    /// The loopback address of a family, at a port of the system's choice.
    static func any(_ family: SocketAddress.Family) -> SocketAddress {
        family == .ipv6 ? address("::1", 0) : .loopback(port: 0)
    }

    /// An address in digits.
    static func address(_ literal: String, _ port: UInt16) -> SocketAddress {
        SocketAddress(literal: literal, port: port) ?? .loopback(port: port)
    }
}

/// A plain socket that no loop watches. Closed with its last owner.
final class PlainSocket: Sendable {
    private let descriptor: Descriptor

    init(_ family: SocketAddress.Family) throws(SystemError) {
        descriptor = try Platform.streamSocket(family)
    }

    var localAddress: SocketAddress? {
        SocketAddress.asking { getsockname(descriptor.rawValue, $0, $1) }
    }

    func take(_ address: SocketAddress) throws(SystemError) {
        let result = address.withSystemAddress { bind(descriptor.rawValue, $0, $1) }
        if result != 0 { throw SystemError.last("bind") }
    }

    func startConnecting(to address: SocketAddress) {
        _ = address.withSystemAddress { connect(descriptor.rawValue, $0, $1) }
    }

    func listenWithoutQueue() {
        _ = listen(descriptor.rawValue, 0)
    }

    func resetWhenClosed() {
        descriptor.setOption(SO_LINGER, level: Platform.socketLevel, to: linger(l_onoff: 1, l_linger: 0))
    }
}

/// A port where nobody listens and nobody else may: connections are refused as long as this lives.
final class DeadPort: Sendable {
    let address: SocketAddress
    private let socket: PlainSocket

    init(_ host: String = "127.0.0.1") throws {
        let wanted = Loopback.address(host, 0)
        socket = try PlainSocket(wanted.family)
        try socket.take(wanted)
        address = socket.localAddress ?? wanted
    }
}

/// A listener whose queue is full: a connection to it gets no answer at all.
final class BlackHole: Sendable {
    let address: SocketAddress
    private let listener: PlainSocket
    private let queue: [PlainSocket]

    init(_ host: String = "127.0.0.1") throws {
        let wanted = Loopback.address(host, 0)
        listener = try PlainSocket(wanted.family)
        try listener.take(wanted)
        listener.listenWithoutQueue()
        let address = listener.localAddress ?? wanted
        queue = try (0..<3).map { _ in
            let socket = try PlainSocket(address.family)
            socket.startConnecting(to: address)
            return socket
        }
        self.address = address
    }
}
