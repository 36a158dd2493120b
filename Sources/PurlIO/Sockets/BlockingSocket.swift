/// A connected stream socket for threads that can wait, apart from any loop.
///
/// Receiving and sending wait as long as it takes; two threads may do either at the same time. What ends a direction ends
/// the waiting in it. The descriptor is closed when nobody holds the socket any more, so no call can hit another's.
package final class BlockingSocket: Sendable {
    private let descriptor: Descriptor

    /// Takes over a connected descriptor, whether it is non-blocking or not.
    package init(adopting descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Waits until something has arrived, and takes it. 0: the end of the stream.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        if buffer.isEmpty { return 0 }
        while true {
            let count = recv(descriptor.rawValue, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: _ = try wait(for: Int16(POLLIN), milliseconds: -1)
            default: throw SystemError.last("recv")
            }
        }
    }

    /// Waits until there is room, and hands bytes to the system; returns how many it took.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        while true {
            let count = Platform.sendBytes(descriptor.rawValue, bytes)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: _ = try wait(for: Int16(POLLOUT), milliseconds: -1)
            default: throw SystemError.last("send")
            }
        }
    }

    /// Receiving would not wait: something has arrived, the end of the stream perhaps, or an error.
    package var isReadable: Bool { (try? wait(for: Int16(POLLIN), milliseconds: 0)) ?? true }

    /// Sending would not wait.
    package var isWritable: Bool { (try? wait(for: Int16(POLLOUT), milliseconds: 0)) ?? true }

    /// Whether the end of the stream is the next thing to be received.
    package var isAtEnd: Bool {
        var byte: UInt8 = 0
        return recv(descriptor.rawValue, &byte, 1, Platform.peek) == 0
    }

    /// Receives nothing more: whoever waits for something gets the end of the stream.
    package func shutdownRead() {
        _ = shutdown(descriptor.rawValue, Platform.shutdownRead)
    }

    /// Ends this side's stream once what was sent has gone.
    package func shutdownWrite() {
        _ = shutdown(descriptor.rawValue, Platform.shutdownWrite)
    }

    /// A second descriptor of the same connection, for a loop to watch. Whoever has it sends and receives nothing.
    @NetworkActor package func watcher() throws(SystemError) -> StreamSocket {
        let copy = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
        return try StreamSocket(adopting: Descriptor(checking: copy, "fcntl"))
    }

    /// Whether the descriptor is ready in that way, at the latest after so many milliseconds; negative: for ever.
    private func wait(for events: Int16, milliseconds: Int32) throws(SystemError) -> Bool {
        while true {
            var entry = pollfd(fd: descriptor.rawValue, events: events, revents: 0)
            let count = poll(&entry, 1, milliseconds)
            if count >= 0 { return count > 0 }
            if errno != EINTR { throw SystemError.last("poll") }
        }
    }
}

extension StreamSocket {
    /// Gives the connection away: the loop watches it no longer, and the socket is closed as far as it is concerned.
    package func detach() throws(SystemError) -> BlockingSocket {
        guard let descriptor = channel.release() else { throw SystemError(code: EBADF, operation: "detach") }
        return BlockingSocket(adopting: descriptor)
    }
}
