/// A connected stream of bytes in both directions that never blocks: a TCP or Unix-domain socket, what a security layer
/// makes of one, or memory.
///
/// Readiness is level-triggered: as long as ``interest`` asks for something and it is there, the handler is called in
/// every turn of the loop. The owner of a transport closes it.
@NetworkActor package protocol LoopTransport: AnyObject, Sendable {
    /// Receives the events that ``interest`` asks for; held weakly. Without a handler the transport stops watching.
    var handler: (any TransportHandler)? { get set }

    /// The events that the handler is called for; none at first, and none once the transport is closed.
    var interest: TransportInterest { get set }

    /// Whether the transport has not been closed on this side.
    var isOpen: Bool { get }

    /// This side's address; `nil` when it has none.
    var localAddress: SocketAddress? { get }

    /// The other side's address; `nil` when it has none.
    var peerAddress: SocketAddress? { get }

    /// The socket that carries exactly the bytes of this transport; `nil` where they are changed on their way or never
    /// reach a socket. With it the connection can be given away: `StreamSocket.detach()`.
    var plainSocket: StreamSocket? { get }

    /// Takes bytes that have arrived, up to the size of `buffer`.
    ///
    /// - Returns: The count; 0 at the end of the stream; `nil` when nothing has arrived, or `buffer` is empty.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int?

    /// Whether nothing has arrived, not even the end of the stream or an error. Takes no bytes.
    var isQuiet: Bool { get }

    /// Whether nothing has arrived since that turn of the loop, after which the transport was drained; see ``isQuiet``.
    func isQuiet(since turn: UInt64) -> Bool

    /// Takes bytes to be sent.
    ///
    /// - Returns: How many were taken, perhaps fewer than all; 0 when there is no room.
    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int

    /// Has the connection fail when the other side leaves what it is sent unacknowledged for `limit`, whether content or
    /// the system's own questions, which begin at half of that time. Where there is no network in between it has no effect.
    func fail(whenUnacknowledgedFor limit: Duration)

    /// Takes the bytes of two buffers to be sent in one step, as ``send(_:)`` does; the first one may be taken alone.
    func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws(SystemError) -> Int

    /// Sends at most `count` bytes, one at least, of an open file from `offset` on, without copying through this process. The
    /// move ends where the file does.
    func send(_ count: Int, ofFile descriptor: Int32, from offset: Int64) throws(SystemError) -> TransportMove

    /// Moves at most `count` bytes that have arrived into a pipe, without copying through this process.
    func receive(_ count: Int, intoPipe descriptor: Int32) throws(SystemError) -> TransportMove

    /// What became of the bytes that the transport has taken; `nil` where nothing reports it.
    var delivery: DeliveryState? { get }

    /// Ends this side's stream once what was sent has gone out. Receiving continues.
    func shutdownWrite()

    /// Closes both directions. The handler is not called again. Has no effect the second time.
    func close()

    /// Closes at once and discards what has not gone out: the other side sees a reset where the transport knows one.
    func reset()
}

/// Receives the events of a transport, on the network thread.
@NetworkActor package protocol TransportHandler: AnyObject {
    /// Bytes, the end of the stream or an error can be received.
    func transportIsReadable(_ transport: any LoopTransport)

    /// There is room to send, or the next `send` throws the connection's error.
    func transportIsWritable(_ transport: any LoopTransport)
}

/// What became of the bytes that a connection was given to send.
package struct DeliveryState: Sendable, Hashable {
    /// Whether the system still sends them.
    package enum End: Sendable, Hashable {
        case open
        /// The other side's system has reset the connection.
        case reset
        /// This system has given up.
        case failed
    }

    /// How many bytes the other side's system has not acknowledged: the last ones that were sent.
    package let unacknowledged: Int
    package let end: End

    package init(unacknowledged: Int, end: End) {
        self.unacknowledged = unacknowledged
        self.end = end
    }
}

extension LoopTransport {
    package var delivery: DeliveryState? { nil }

    package func fail(whenUnacknowledgedFor limit: Duration) {}

    package var plainSocket: StreamSocket? { nil }

    package func isQuiet(since turn: UInt64) -> Bool { isQuiet }

    package func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        try send(first.isEmpty ? second : first)
    }

    package func send(_ count: Int, ofFile descriptor: Int32, from offset: Int64) throws(SystemError) -> TransportMove {
        .unsupported
    }

    package func receive(_ count: Int, intoPipe descriptor: Int32) throws(SystemError) -> TransportMove { .unsupported }

    /// Takes bytes that have arrived, at most `limit`, into the loop's scratch buffer, where they are valid until the next
    /// read on this thread.
    ///
    /// - Returns: The bytes; none at the end of the stream; `nil` when nothing has arrived.
    package func receive(atMost limit: Int = .max) throws(SystemError) -> UnsafeRawBufferPointer? {
        let scratch = EventLoop.shared.scratch
        let count = try receive(into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(limit, scratch.count)]))
        guard let count else { return nil }
        return UnsafeRawBufferPointer(rebasing: scratch[..<count])
    }

    /// Takes the part `range` of an array to be sent; returns how many bytes were taken.
    package func send(_ bytes: [UInt8], _ range: Range<Int>) throws(SystemError) -> Int {
        try bytes.withBytes { bytes throws(SystemError) in
            try send(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes, which are valid during the call. A closure of an actor's that is given to the standard
    /// library's own method would check, each time it runs, that it runs on the actor.
    package func withBytes<Value, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try span.bytes.withUnsafeBytes(body)
    }
}
