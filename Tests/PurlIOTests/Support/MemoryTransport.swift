@testable import PurlIO

/// One end of a connection that exists in memory only: each end's bytes wait in a buffer of limited size.
@NetworkActor final class MemoryTransport: LoopTransport {
    weak var handler: (any TransportHandler)?
    let localAddress: SocketAddress? = nil
    let peerAddress: SocketAddress? = nil
    let plainSocket: StreamSocket? = nil
    private(set) var isOpen = true

    var interest: TransportInterest = [] {
        didSet {
            if !isOpen { interest = [] }
            callHandlerSoon()
        }
    }

    /// How the stream from the other end stops.
    private enum End {
        case open, ended, reset
    }

    private let loop: EventLoop
    private let capacity: Int
    private weak var peer: MemoryTransport?
    private var arrived: [UInt8] = []
    private var end = End.open
    private var hasShutDown = false
    private var willCallHandler = false

    private init(loop: EventLoop, capacity: Int) {
        self.loop = loop
        self.capacity = capacity
    }

    /// Two ends connected to each other, with room for `capacity` bytes in either direction.
    static func pair(loop: EventLoop, capacity: Int = 65_536) -> (MemoryTransport, MemoryTransport) {
        let first = MemoryTransport(loop: loop, capacity: capacity)
        let second = MemoryTransport(loop: loop, capacity: capacity)
        first.peer = second
        second.peer = first
        return (first, second)
    }

    var isQuiet: Bool { isOpen && arrived.isEmpty && end == .open }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        guard isOpen else { throw SystemError(code: EBADF, operation: "recv") }
        if end == .reset { throw SystemError(code: ECONNRESET, operation: "recv") }
        if arrived.isEmpty { return end == .open ? nil : 0 }
        let count = min(buffer.count, arrived.count)
        buffer.copyBytes(from: arrived.prefix(count))
        arrived.removeFirst(count)
        peer?.callHandlerSoon()
        return count
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        guard isOpen else { throw SystemError(code: EBADF, operation: "send") }
        guard let peer, peer.isOpen, !hasShutDown else { throw SystemError(code: EPIPE, operation: "send") }
        let count = min(bytes.count, room)
        peer.arrived.append(contentsOf: bytes.prefix(count))
        peer.callHandlerSoon()
        return count
    }

    func shutdownWrite() {
        hasShutDown = true
        endPeer(.ended)
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        interest = []
        endPeer(.ended)
    }

    func reset() {
        guard isOpen else { return }
        close()
        endPeer(.reset)
    }

    private var room: Int { capacity - (peer?.arrived.count ?? 0) }

    private func endPeer(_ end: End) {
        peer?.end = end
        peer?.callHandlerSoon()
    }

    private var readiness: TransportInterest {
        var readiness: TransportInterest = []
        if !isQuiet { readiness.insert(.read) }
        if peer?.isOpen != true || room > 0 { readiness.insert(.write) }
        return readiness.intersection(interest)
    }

    private func callHandlerSoon() {
        guard !willCallHandler, !readiness.isEmpty else { return }
        willCallHandler = true
        loop.schedule(after: .zero) { self.callHandler() }
    }

    private func callHandler() {
        willCallHandler = false
        guard let handler else {
            interest = []
            return
        }
        if readiness.contains(.read) { handler.transportIsReadable(self) }
        if readiness.contains(.write) { handler.transportIsWritable(self) }
        callHandlerSoon()
    }
}

/// The transports that every rule about a connection is tested with.
enum TransportKind: CaseIterable, Sendable {
    case socket, memory

    /// Two ends connected to each other.
    @NetworkActor func pair(loop: EventLoop) throws(SystemError) -> (any LoopTransport, any LoopTransport) {
        switch self {
        case .socket:
            let (first, second) = try StreamSocket.pair(loop: loop)
            return (first, second)
        case .memory:
            return MemoryTransport.pair(loop: loop)
        }
    }
}
