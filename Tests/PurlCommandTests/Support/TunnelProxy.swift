import Foundation
import Synchronization

/// A proxy that answers CONNECT (RFC 9110 §9.3.6) with a tunnel to one port of this machine, whatever host was asked for.
final class TunnelProxy: Sendable {
    struct Failure: Error {
        let code = errno
    }

    let port: Int
    private let listener: Int32
    private let requests = Requests()

    private final class Requests: Sendable {
        let heads = Mutex<[String]>([])
    }

    init(to target: UInt16) throws {
        listener = try Self.makeSocket()
        var address = Self.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [listener] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw Failure() }
        Thread.detachNewThread { [listener, requests] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread { Self.serve(client, target, requests) }
            }
            close(listener)
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The request lines so far.
    var lines: [String] { requests.heads.withLock { $0.map { String($0.prefix { $0 != "\r\n" }) } } }

    private static func serve(_ client: Int32, _ target: UInt16, _ requests: Requests) {
        defer { close(client) }
        guard let head = readHead(client) else { return }
        requests.heads.withLock { $0.append(head) }
        guard let server = try? makeSocket() else { return }
        defer { close(server) }
        var address = Self.address(port: target)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let answer = Array("HTTP/1.1 \(isConnected ? "200 OK" : "502 Bad Gateway")\r\n\r\n".utf8)
        guard send(client, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count, isConnected else { return }
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            relay(from: server, to: client)
            isDone.signal()
        }
        relay(from: client, to: server)
        isDone.wait()
    }

    private static func relay(from source: Int32, to target: Int32) {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        copying: while case let count = recv(source, &bytes, bytes.count, 0), count > 0 {
            var sent = 0
            while sent < count {
                let taken = bytes.withUnsafeBytes {
                    send(target, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard taken > 0 else { break copying }
                sent += taken
            }
        }
        shutdown(target, Int32(SHUT_WR))
    }

    private static func readHead(_ client: Int32) -> String? {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.reversed().starts(with: "\n\r\n\r".utf8) {
            guard head.count < 65_536, recv(client, &byte, 1, 0) == 1 else { return nil }
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }

    private static func makeSocket() throws -> Int32 {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw Failure() }
        return descriptor
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }
}
