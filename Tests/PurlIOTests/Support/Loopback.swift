@testable import PurlIO

/// Addresses of this machine.
enum Loopback {
    /// The loopback address of a family, at a port that the system chooses.
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

    init(_ family: SocketAddress.Family, isMultipath: Bool = false) throws(SystemError) {
        descriptor = try Platform.streamSocket(family, isMultipath: isMultipath)
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

    /// Waits for the connection.
    func finishConnecting(to address: SocketAddress) throws(SystemError) {
        startConnecting(to: address)
        var ready = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor.rawValue, Platform.socketLevel, SO_ERROR, &code, &size)
        if code != 0 { throw SystemError(code: code, operation: "connect") }
    }

    func listenWithoutQueue() {
        _ = listen(descriptor.rawValue, 0)
    }

    func resetWhenClosed() {
        descriptor.setOption(SO_LINGER, level: Platform.socketLevel, to: linger(l_onoff: 1, l_linger: 0))
    }
}

/// A port without a listener, bound so that no other process can listen there: connections to it are refused.
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

/// A listener whose queue is full: the system does not answer a connection to it.
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

/// Connections over the loopback interface, made by turning a loop.
@NetworkActor enum TCP {
    /// Both ends of a new connection.
    static func connect(
        _ family: SocketAddress.Family, on loop: EventLoop
    ) throws -> (client: StreamSocket, server: StreamSocket) {
        var server: StreamSocket?
        let listener = try ListeningSocket(Loopback.any(family), loop: loop) { server = $0 }
        defer { listener.close() }
        var outcome: Result<any LoopTransport, DialError>?
        let dial = NetworkDial(to: listener.endpoint, loop: loop) { outcome = $0 }
        defer { dial.cancel() }
        while true {
            loop.turn(waiting: true)
            if let server, let client = try outcome?.get().plainSocket { return (client, server) }
        }
    }
}

extension ListeningSocket {
    /// How to dial it.
    var endpoint: Endpoint {
        switch address.family {
        case .ipv4, .ipv6: .host(address.host ?? "", port: address.port ?? 0)
        case .unix: .unix(path: address.description)
        }
    }
}

extension Descriptor {
    /// The value of a socket's option.
    func option(_ option: Int32, level: Int32) -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(rawValue, level, option, &value, &length)
        return value
    }
}

/// The sockets that this process has open. Other descriptors come and go with the runtime's own threads.
enum OpenSockets {
    static var count: Int {
        (Int32(0)..<1_024).count { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}

/// Tries a call until it returns something or throws: the end that a test has closed is open for a moment longer where a process
/// that another test starts has a copy of it.
@NetworkActor func untilClosed<Value>(_ call: () throws -> Value?) rethrows -> Value? {
    while !Task.isCancelled {
        if let value = try call() { return value }
        sched_yield()
    }
    return nil
}
