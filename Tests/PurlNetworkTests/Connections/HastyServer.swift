import Foundation
import Synchronization

@testable import SessionFixtures

/// A server on a thread of its own that closes each connection right after a response, without saying so. Its closing and
/// the next request race, as they do with a server in another process.
final class HastyServer: Sendable {
    let url: URL
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var bodies: [String] = []
    }

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isReady, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/") else {
            throw POSIXError(.EADDRINUSE)
        }
        self.url = url
        Thread.detachNewThread { [weak self, listener] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else {
                    close(listener)
                    return
                }
                self?.serve(connection)
                close(connection)
            }
        }
    }

    deinit {
        // The thread closes it: until then no other socket has its number.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The bodies of the requests, in the order in which they came.
    var bodies: [String] { state.withLock { $0.bodies } }

    private func serve(_ connection: Int32) {
        var request = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let parts = request.split(separator: "\r\n\r\n", maxSplits: 1)
            if let head = parts.first, request.contains("\r\n\r\n") {
                let body = parts.count == 2 ? parts[1] : ""
                let length = head.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? 0
                if body.utf8.count == length {
                    state.withLock { $0.bodies.append(String(body)) }
                    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                    _ = response.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
                    return
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            request += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
