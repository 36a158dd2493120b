import Foundation

/// A listening socket that accepts nobody and has no room for anybody to wait: connecting to it takes for ever.
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
        // The first few fill the queue; the kernel drops what the others ask.
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
