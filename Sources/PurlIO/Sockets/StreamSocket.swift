/// Told what happens to a socket, on the I/O thread.
@NetworkActor package protocol StreamSocketHandler: AnyObject {
    /// Bytes, the end of the stream or an error can be received.
    func socketIsReadable(_ socket: StreamSocket)
    /// There is room to send, or the next send will tell the error.
    func socketIsWritable(_ socket: StreamSocket)
}

/// A connected stream socket: non-blocking, closed on exec, without Nagle's delay, and never the cause of a SIGPIPE.
@NetworkActor package final class StreamSocket {
    /// Who is told. When it is gone the socket stops watching.
    package weak var handler: (any StreamSocketHandler)?

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
        channel.onReady = { [weak self] readiness in self?.tellHandler(readiness) }
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

    /// What the handler is told about; nothing at first, and nothing once the socket is closed.
    package var interest: Interest {
        get { channel.interest }
        set { channel.interest = newValue }
    }

    /// Whether the socket has not been closed on this side.
    package var isOpen: Bool { channel.isOpen }

    /// This side's address; nil when it has none.
    package var localAddress: SocketAddress? {
        SocketAddress.asking { getsockname(channel.descriptor.rawValue, $0, $1) }
    }

    /// The other side's address; nil when it has none.
    package var peerAddress: SocketAddress? {
        SocketAddress.asking { getpeername(channel.descriptor.rawValue, $0, $1) }
    }

    /// Reads what has arrived, up to the size of `buffer`. Nil: nothing yet (or no room to put it); 0: end of stream.
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

    /// Reads what has arrived, at most `limit` bytes, into the loop's scratch, where it is valid until the next read on
    /// this thread. Nil: nothing yet; no bytes: end of stream.
    package func receive(atMost limit: Int = .max) throws(SystemError) -> UnsafeRawBufferPointer? {
        let scratch = EventLoop.shared.scratch
        let count = try receive(into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(limit, scratch.count)]))
        return count.map { UnsafeRawBufferPointer(rebasing: scratch[..<$0]) }
    }

    /// Whether nothing has arrived, not even the end of the stream. Takes nothing.
    package var isQuiet: Bool {
        var byte: UInt8 = 0
        while true {
            let count = recv(channel.descriptor.rawValue, &byte, 1, Platform.peek)
            if count < 0, errno == EINTR { continue }
            return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
        }
    }

    /// Hands bytes to the system and returns how many it took, perhaps fewer than all; 0 when there is no room.
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

    /// The same for a part of an array.
    package func send(_ bytes: [UInt8], _ range: Range<Int>) throws(SystemError) -> Int {
        try bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
            try send(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// Sends `count` bytes of a file from `offset` on. Returns how many the system took, 0 when there is no room; nil when
    /// the file ends there.
    func send(_ count: Int, of file: Int32, from offset: Int64) throws(SystemError) -> Int? {
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

    /// Ends this side's stream once what was sent has gone; receiving goes on.
    package func shutdownWrite() {
        _ = shutdown(channel.descriptor.rawValue, Platform.shutdownWrite)
    }

    /// Closes both directions. The handler hears nothing more. Nothing happens the second time.
    package func close() {
        channel.close()
    }

    /// Closes at once and throws away what was not sent: the other side of a TCP connection sees a reset.
    package func reset() {
        channel.descriptor.setOption(SO_LINGER, level: Platform.socketLevel, to: linger(l_onoff: 1, l_linger: 0))
        channel.close()
    }

    private func tellHandler(_ readiness: Interest) {
        guard let handler else {
            // Nobody would take what is there, and it would be reported again and again.
            interest = []
            return
        }
        if readiness.contains(.read) { handler.socketIsReadable(self) }
        // The call above may have closed the socket or changed its mind.
        if readiness.contains(.write), interest.contains(.write) { handler.socketIsWritable(self) }
    }
}
