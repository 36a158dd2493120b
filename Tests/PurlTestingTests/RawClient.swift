import Dispatch
import Foundation
import PurlTesting

/// A client without HTTP: a blocking socket, used on its own queue.
final class RawClient: Sendable {
    /// How a stream of bytes ended.
    enum StreamEnd: Sendable, Equatable {
        case closed
        case failed(Int32)
    }

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "raw-client")

    /// Connects to the server.
    init(to server: LoopbackServer, receiveBuffer: Int32? = nil) throws {
        let family: Int32 =
            switch server.transport {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            case .unix: AF_UNIX
            case .memory: throw POSIXError(.EOPNOTSUPP)
            }
        descriptor = socket(family, Self.streamType, 0)
        Self.prepare(descriptor)
        // So that a broken server fails the test instead of hanging it.
        var timeout = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
        let result: Int32
        switch server.transport {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = server.port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = Self.connect(descriptor, &address)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = server.port.bigEndian
            address.sin6_addr = in6addr_loopback
            result = Self.connect(descriptor, &address)
        case .memory:
            throw POSIXError(.EOPNOTSUPP)
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            result = Self.connect(descriptor, &address)
        }
        if result != 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        withUnsafeBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress else { return -1 }
            let generic = base.assumingMemoryBound(to: sockaddr.self)
            return Foundation.connect(descriptor, generic, socklen_t(bytes.count))
        }
    }

    deinit {
        _ = Foundation.close(descriptor)
    }

    /// Sends bytes.
    ///
    /// - Returns: Whether the connection took all of them.
    @discardableResult
    func send(_ data: Data) async -> Bool {
        await blocking { descriptor in
            var rest = data[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Foundation.send(descriptor, $0.baseAddress, $0.count, Self.sendFlags)
                }
                if count <= 0 { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    @discardableResult
    func send(_ text: String) async -> Bool {
        await send(Data(text.utf8))
    }

    /// Sends a GET.
    ///
    /// - Parameters:
    ///   - path: The request target.
    ///   - fields: The field lines after Host.
    func get(_ path: String, _ fields: String...) async {
        await send("GET \(path) HTTP/1.1\r\nHost: test\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// Reads so many bytes, or fewer when the stream ends before.
    func read(_ count: Int) async -> Data {
        await blocking { Self.read($0, upTo: count).0 }
    }

    /// Reads so many bytes as text.
    func readText(_ count: Int) async -> String {
        String(decoding: await read(count), as: UTF8.self)
    }

    /// Reads to the end of the empty line.
    func readHead() async -> String {
        await blocking { descriptor in
            var head = Data()
            let end = Data("\r\n\r\n".utf8)
            while !head.hasSuffix(end) {
                let (byte, _) = Self.read(descriptor, upTo: 1)
                if byte.isEmpty { break }
                head.append(byte)
            }
            return String(decoding: head, as: UTF8.self)
        }
    }

    /// Reads a response with a `Content-Length`.
    func readResponse() async -> (head: String, body: Data) {
        let head = await readHead()
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = line.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        return (head, await read(length))
    }

    /// Reads until the stream ends.
    func readToEnd() async -> (data: Data, end: StreamEnd) {
        await blocking { Self.read($0, upTo: .max) }
    }

    /// Reads text until the stream ends.
    func readTextToEnd() async -> String {
        String(decoding: await readToEnd().data, as: UTF8.self)
    }

    /// Ends the client's stream.
    func finishSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the connection end with a reset when the client is released.
    func resetWhenReleased() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private func blocking<Result: Sendable>(_ body: @escaping @Sendable (Int32) -> Result) async -> Result {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            queue.async {
                let result = body(descriptor)
                withExtendedLifetime(self) { continuation.resume(returning: result) }
            }
        }
    }

    private static func read(_ descriptor: Int32, upTo limit: Int) -> (Data, StreamEnd) {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: min(limit, 256 << 10))
        while data.count < limit {
            let wanted = min(buffer.count, limit - data.count)
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, wanted, 0) }
            if count == 0 { return (data, .closed) }
            // The system does not continue a wait that has a time limit when the process was stopped.
            if count < 0, errno == EINTR { continue }
            if count < 0 { return (data, .failed(errno)) }
            data.append(contentsOf: buffer[..<count])
        }
        return (data, .closed)
    }
}

extension Data {
    fileprivate func hasSuffix(_ other: Data) -> Bool {
        count >= other.count && suffix(other.count) == other
    }
}

extension String {
    init(_ data: Data) {
        self.init(decoding: data, as: UTF8.self)
    }
}

#if canImport(Darwin)
    extension RawClient {
        private static let streamType = SOCK_STREAM
        private static let sendFlags: Int32 = 0

        private static func prepare(_ descriptor: Int32) {
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, 4)
        }
    }
#else
    extension RawClient {
        private static let streamType = Int32(SOCK_STREAM.rawValue)
        private static let sendFlags = Int32(MSG_NOSIGNAL)

        private static func prepare(_ descriptor: Int32) {}
    }
#endif
