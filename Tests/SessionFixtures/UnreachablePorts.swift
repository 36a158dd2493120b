import Foundation
import PurlTesting

@testable import PurlIO

/// A closed port of 127.0.0.1: connections are refused for the lifetime of this object.
///
/// The port is bound but not listened on, so that the system gives it to no other server. A server that is started
/// with its number can still listen, and the port is closed again when it stops.
final class DeadPort: Sendable {
    let number: UInt16
    private let descriptor: Descriptor

    init() throws {
        let socket = try Platform.streamSocket(.ipv4)
        // With this option on both sockets, one of them may listen.
        socket.setOption(SO_REUSEADDR, level: Platform.socketLevel, to: Int32(1))
        guard SocketAddress.loopback(port: 0).withSystemAddress({ bind(socket.rawValue, $0, $1) }) == 0,
            let number = SocketAddress.asking({ getsockname(socket.rawValue, $0, $1) })?.port
        else { throw SystemError.last("bind") }
        self.number = number
        descriptor = socket
    }

    func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(number)\(path)") ?? URL(fileURLWithPath: path)
    }
}

/// A listening socket with a full backlog that accepts no connection: connecting to it never completes.
final class FullBacklog: Sendable {
    let port: UInt16
    private let descriptors: [Int32]

    init?() {
        let stream = Int32(SOCK_STREAM.rawValue)
        let listener = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 0) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else {
            close(listener)
            return nil
        }
        // The first few fill the backlog; the kernel drops the others' attempts.
        let waiting = (0..<8).map { _ in
            let client = socket(AF_INET, stream | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: &address) { pointer in
                _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) }
            }
            return client
        }
        port = UInt16(bigEndian: address.sin_port)
        descriptors = waiting + [listener]
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    var url: URL { URL(string: "http://127.0.0.1:\(port)/") ?? URL(fileURLWithPath: "/") }
}
