import Foundation
import PurlTesting

@testable import PurlIO

/// A port of 127.0.0.1 where nobody listens: connections are refused as long as this lives.
///
/// It is taken without being listened at, so that the system gives it to no other server. One that is started with its
/// number may listen there all the same.
final class DeadPort: Sendable {
    let number: UInt16
    private let descriptor: Descriptor

    convenience init() throws {
        try self.init(port: 0)
    }

    /// The port of a server that is no more.
    convenience init(stopping server: LoopbackServer) throws {
        server.stop()
        try self.init(port: server.port)
    }

    private init(port: UInt16) throws {
        let socket = try Platform.streamSocket(.ipv4)
        // Of two sockets that both say so, one may listen.
        socket.setOption(SO_REUSEADDR, level: Platform.socketLevel, to: Int32(1))
        guard SocketAddress.loopback(port: port).withSystemAddress({ bind(socket.rawValue, $0, $1) }) == 0,
            let number = SocketAddress.asking({ getsockname(socket.rawValue, $0, $1) })?.port
        else { throw SystemError.last("bind") }
        self.number = number
        descriptor = socket
    }

    func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(number)\(path)") ?? URL(fileURLWithPath: path)
    }
}
