/// A connected stream of bytes in both directions that a program provides, where a descriptor of a stream socket will not
/// do: memory, a serial line, a stream of another protocol.
///
/// A ``Connector`` returns one, not started yet. Purl calls it from its network thread, one call at a time; no call may
/// block. An error that it throws ends the transfer with `URLError.networkConnectionLost`, with itself as the underlying
/// error.
///
/// Five calls are enough: ``start(_:)``, ``read(into:)``, ``write(_:)``, ``finishWriting()`` and ``close()``. The others
/// have an implementation.
public protocol Transport: AnyObject, Sendable {
    /// Called once, before all other calls; not at all for a transport that is closed because its connection is no longer
    /// wanted. The transport raises `signal` whenever a ``read(into:)`` that returned `nil`
    /// may return something now, and whenever a ``write(_:)`` that took less than all may take more. A signal too many
    /// does no harm; one too few makes the transfer wait for its time-out.
    func start(_ signal: TransportSignal)

    /// What Purl waits for; nothing at first. Without `.read` it takes no bytes, so that the other side has to wait.
    func setInterest(_ interest: TransportInterest)

    /// Takes bytes that have arrived, up to the size of `buffer`, which is not empty.
    ///
    /// - Returns: The count; 0 at the end of the stream; `nil` when nothing has arrived.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int?

    /// Takes bytes to be sent, which are valid during the call.
    ///
    /// - Returns: How many were taken, perhaps fewer than all; 0 when there is no room.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int

    /// Ends this side's stream once what was written has gone out. Reading continues.
    func finishWriting()

    /// Closes both directions. No call follows but further ones of this.
    func close()

    /// Closes at once and discards what has not gone out. Calls ``close()`` where it is not implemented.
    func reset()

    /// Takes the bytes of two buffers to be sent in one step, as `writev` does. Writes the first one alone where it is not
    /// implemented.
    ///
    /// - Returns: How many were taken in all. The transport raises its signal for more room when it has taken less than the
    ///   first one; when it has taken the first one, it may be asked again at once.
    func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws -> Int

    /// Sends up to `count` bytes of an open file from `offset` on without taking them into the process, as `sendfile` does.
    /// The file's own position stays where it is.
    func write(_ count: Int, ofFile descriptor: Int32, from offset: Int64) throws -> TransportMove

    /// Moves up to `count` bytes that have arrived into a pipe without taking them into the process, as `splice` does. The
    /// pipe does not block; when it is full, that is ``TransportMove/notNow``, too.
    func read(_ count: Int, intoPipe descriptor: Int32) throws -> TransportMove

    /// This side's address in digits, and its port, for the task's metrics; `nil` where there is none.
    var localAddress: TransportAddress? { get }

    /// The other side's address in digits, and its port, for the task's metrics; `nil` where there is none.
    var remoteAddress: TransportAddress? { get }
}

extension Transport {
    public func setInterest(_ interest: TransportInterest) {}

    public func reset() { close() }

    public func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws -> Int {
        try write(first.isEmpty ? second : first)
    }

    public func write(_ count: Int, ofFile descriptor: Int32, from offset: Int64) throws -> TransportMove {
        .unsupported
    }

    public func read(_ count: Int, intoPipe descriptor: Int32) throws -> TransportMove { .unsupported }

    public var localAddress: TransportAddress? { nil }

    public var remoteAddress: TransportAddress? { nil }
}

/// How far a transport came that was asked to move bytes by itself.
public enum TransportMove: Sendable, Hashable {
    /// That many bytes were moved; at least one.
    case moved(Int)
    /// Nothing has arrived, or there is no room. The transport raises its signal when that changes.
    case notNow
    /// The stream that is received, or the file that is sent, ends here.
    case end
    /// The transport does not move bytes by itself: Purl reads and writes them.
    case unsupported
}

/// The address of a socket, or of a transport.
public struct TransportAddress: Sendable, Hashable {
    /// The address in digits, an IPv6 one without brackets; or the path of a local socket.
    public let address: String
    /// The port; `nil` where the kind of address has none.
    public let port: Int?

    public init(address: String, port: Int? = nil) {
        self.address = address
        self.port = port
    }
}
