@testable import PurlIO

/// Connections over the loopback interface, made by turning a loop.
@NetworkActor enum TCP {
    /// Both ends of a new connection.
    static func connect(
        _ family: SocketAddress.Family, on loop: EventLoop
    ) throws -> (client: StreamSocket, server: StreamSocket) {
        var server: StreamSocket?
        let listener = try ListeningSocket(Loopback.any(family), loop: loop) { server = $0 }
        defer { listener.close() }
        var outcome: Result<StreamSocket, DialError>?
        let dial = Dial(to: listener.endpoint, loop: loop) { outcome = $0 }
        defer { dial.cancel() }
        while true {
            loop.turn(waiting: true)
            if let server, let client = try outcome?.get() { return (client, server) }
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
