/// A connected stream socket: non-blocking, closed on exec, without Nagle's delay, and never the cause of a SIGPIPE.
@NetworkActor package final class StreamSocket: LoopTransport {
    package var handler: (any TransportHandler)? {
        get { weakHandler }
        set { weakHandler = newValue }
    }

    private weak var weakHandler: (any TransportHandler)?

    /// The socket's descriptor and its place in the loop.
    let channel: Channel

    /// Takes over a connected, non-blocking descriptor.
    package convenience init(adopting descriptor: consuming Descriptor, loop: EventLoop = .shared) {
        self.init(channel: Channel(descriptor, loop: loop))
    }

    /// Takes over a channel whose descriptor is a connected socket.
    init(channel: Channel) {
        self.channel = channel
        channel.interest = []
        channel.setHandler { [weak self] readiness in self?.callHandler(readiness) }
    }

    deinit {
        NetworkActor.perform { [channel] in channel.close() }
    }

    /// Two sockets connected to each other.
    package static func pair() throws(SystemError) -> (StreamSocket, StreamSocket) {
        try pair(loop: .shared)
    }

    /// Two sockets of `loop`, connected to each other.
    static func pair(loop: EventLoop) throws(SystemError) -> (StreamSocket, StreamSocket) {
        let (first, second) = try Platform.streamSocketPair()
        return (
            StreamSocket(adopting: Descriptor(owning: first), loop: loop),
            StreamSocket(adopting: Descriptor(owning: second), loop: loop)
        )
    }

    package var interest: TransportInterest {
        get { channel.interest }
        set { channel.interest = newValue }
    }

    package var isOpen: Bool { channel.isOpen }

    package var localAddress: SocketAddress? {
        SocketAddress.asking { getsockname(channel.descriptor.rawValue, $0, $1) }
    }

    package var peerAddress: SocketAddress? {
        SocketAddress.asking { getpeername(channel.descriptor.rawValue, $0, $1) }
    }

    package var plainSocket: StreamSocket? { self }

    private lazy var staysOnMachine = localAddress.map { peerAddress?.isSameHost(as: $0) == true } ?? false

    /// Whether both ends speak Multipath TCP (RFC 8684).
    package var isMultipath: Bool { Platform.isMultipath(channel.descriptor.rawValue) }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        while true {
            let count = recv(channel.descriptor.rawValue, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return nil
            default: throw SystemError.last("recv")
            }
        }
    }

    package var isQuiet: Bool {
        var byte: UInt8 = 0
        while true {
            let count = recv(channel.descriptor.rawValue, &byte, 1, Platform.peek)
            if count < 0, errno == EINTR { continue }
            return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
        }
    }

    package func isQuiet(since turn: UInt64) -> Bool {
        // Mostly the loop has looked since, and reported no event.
        interest.contains(.read) && EventLoop.shared.hasDeliveredAll(since: turn) || isQuiet
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        while true {
            let count = Platform.sendBytes(channel.descriptor.rawValue, bytes)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return 0
            default: throw SystemError.last("send")
            }
        }
    }

    package func send(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(SystemError) -> Int {
        if first.isEmpty || second.isEmpty { return try send(first.isEmpty ? second : first) }
        while true {
            let count = Platform.sendBytes(channel.descriptor.rawValue, first, second)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return 0
            default: throw SystemError.last("sendmsg")
            }
        }
    }

    /// To another machine the system sends them out of its page cache, which spares this process a copy. On one machine
    /// that makes the transfer slower: the receiver copies pages that no processor has in its cache, and is the one that
    /// the sender waits for. A copy that was just made is in the cache.
    ///
    /// Where the system cannot send this file, the move is unsupported.
    package func send(
        _ count: Int, ofFile descriptor: Int32, from offset: Int64
    ) throws(SystemError) -> TransportMove {
        do throws(SystemError) {
            let sent =
                staysOnMachine
                ? try sendCopy(count, of: descriptor, from: offset) : try sendPages(count, of: descriptor, from: offset)
            guard let sent else { return .end }
            return sent > 0 ? .moved(sent) : .notNow
        } catch {
            switch error.code {
            case EINVAL, ENOSYS, EOPNOTSUPP: return .unsupported
            default: throw error
            }
        }
    }

    /// As `splice` does; an error of the connection is thrown by the next call that receives.
    package func receive(_ count: Int, intoPipe descriptor: Int32) throws(SystemError) -> TransportMove {
        while true {
            let moved = Platform.splice(channel.descriptor.rawValue, to: descriptor, count: count)
            if moved > 0 { return .moved(moved) }
            if moved == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .notNow
            default: throw SystemError.last("splice")
            }
        }
    }

    /// Sends bytes of a file without taking them into the process. Returns how many the system took, 0 when there is no
    /// room; `nil` when the file ends there.
    func sendPages(_ count: Int, of file: Int32, from offset: Int64) throws(SystemError) -> Int? {
        while true {
            let sent = Platform.sendFile(file, from: offset, count: count, to: channel.descriptor.rawValue)
            if sent > 0 { return sent }
            if sent == 0 { return nil }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return 0
            default: throw SystemError.last("sendfile")
            }
        }
    }

    /// Reads bytes of a file and sends them. What the system does not take is read again the next time, so that an upload
    /// that waits holds no memory.
    func sendCopy(_ count: Int, of file: Int32, from offset: Int64) throws(SystemError) -> Int? {
        let scratch = EventLoop.shared.sendScratch
        let piece = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(count, scratch.count)])
        while true {
            let count = pread(file, piece.baseAddress, piece.count, off_t(offset))
            if count > 0 { return try send(UnsafeRawBufferPointer(rebasing: piece[..<count])) }
            if count == 0 { return nil }
            if errno != EINTR { throw SystemError.last("pread") }
        }
    }

    package func fail(whenUnacknowledgedFor limit: Duration) {
        channel.descriptor.setUnacknowledgedLimit(UnacknowledgedLimit(limit))
    }

    package var delivery: DeliveryState? { isOpen ? Platform.delivery(on: channel.descriptor.rawValue) : nil }

    package func shutdownWrite() {
        _ = shutdown(channel.descriptor.rawValue, Platform.shutdownWrite)
    }

    package func close() {
        channel.close()
    }

    package func reset() {
        channel.descriptor.setOption(SO_LINGER, level: Platform.socketLevel, to: linger(l_onoff: 1, l_linger: 0))
        channel.close()
    }

    private func callHandler(_ readiness: TransportInterest) {
        guard let handler else {
            // What has arrived stays unread, and would be reported again and again.
            interest = []
            return
        }
        if readiness.contains(.read) { handler.transportIsReadable(self) }
        // The call above may have closed the socket or changed its interest.
        if readiness.contains(.write), interest.contains(.write) { handler.transportIsWritable(self) }
    }
}
