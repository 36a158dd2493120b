internal import PurlIO

/// The server's side of a connection that speaks another protocol than HTTP.
@NetworkActor
protocol Peer: AnyObject {
    /// Takes over the transport.
    ///
    /// - Parameter bytes: What the client has sent already.
    func start(with bytes: [UInt8])

    /// Records that the connection is being closed from outside.
    func close(_ ending: LoopbackServer.Ending)
}

/// What a peer has yet to send.
struct OutputBuffer {
    /// With so many bytes left to send, no more are produced and nothing is read: the client does not keep up.
    static let limit = 1 << 20
    /// How much a peer sends before other connections have their turn.
    static let bytesPerTurn = 1 << 20

    var bytes: [UInt8]
    private var sent = 0

    /// A buffer that begins with `bytes`.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether the client must read before more is produced.
    var isFull: Bool { bytes.count - sent >= Self.limit }

    /// Whether the transport has taken every byte.
    var isSent: Bool { sent == bytes.count }

    /// Sends at most `limit` bytes.
    ///
    /// - Returns: How many the transport took.
    @NetworkActor
    mutating func send(to transport: any LoopTransport, atMost limit: Int) throws(SystemError) -> Int {
        let count = try transport.send(bytes, sent..<sent + min(limit, bytes.count - sent))
        sent += count
        return count
    }

    /// Removes the bytes, once all are sent.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.count <= Self.limit)
        sent = 0
    }
}
