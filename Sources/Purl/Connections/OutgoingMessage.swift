import Foundation
internal import PurlIO

/// A request on its way out: what the socket has not taken yet.
struct OutgoingMessage {
    private var head: [UInt8] = []
    private var body = Data()
    private var headSent = 0
    private var bodySent = 0

    init() {}

    /// A small body travels with its head, so that it costs no segment and no system call of its own.
    init(head: [UInt8], body: Data?) {
        self.head = head
        self.body = body ?? Data()
    }

    var isEmpty: Bool { headSent == head.count && bodySent == body.count }

    /// Sends what the socket takes; returns how many bytes of the body went out.
    @NetworkActor
    mutating func send(through socket: StreamSocket) throws(SystemError) -> Int {
        if headSent == 0, !body.isEmpty, body.count <= 16_384 {
            return try sendTogether(through: socket)
        }
        while headSent < head.count {
            let count = try head.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
                try socket.send(UnsafeRawBufferPointer(rebasing: bytes[headSent...]))
            }
            guard count > 0 else { return 0 }
            headSent += count
        }
        let before = bodySent
        while bodySent < body.count {
            let count = try body.bytes.withUnsafeBytes { bytes throws(SystemError) in
                try socket.send(UnsafeRawBufferPointer(rebasing: bytes[bodySent...]))
            }
            guard count > 0 else { break }
            bodySent += count
        }
        return bodySent - before
    }

    @NetworkActor
    private mutating func sendTogether(through socket: StreamSocket) throws(SystemError) -> Int {
        var message = head
        message.append(contentsOf: body)
        let count = try message.span.bytes.withUnsafeBytes { bytes throws(SystemError) in try socket.send(bytes) }
        headSent = min(count, head.count)
        bodySent = count - headSent
        return bodySent
    }
}
