/// A connected stream socket for threads that may block, outside of any loop.
///
/// Receiving and sending wait without a limit; one thread may receive while another sends. Shutting down a direction ends
/// the waiting in it. The descriptor is closed with the last reference, so no call can use a number that was given away.
package final class BlockingSocket: Sendable {
    private let descriptor: Descriptor

    /// Takes over a connected descriptor, whether it is non-blocking or not.
    package init(adopting descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Waits until bytes have arrived, and takes them. Returns 0 at the end of the stream.
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

    /// Waits until there is room; returns how many bytes the system took.
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

    /// Whether receiving would not wait: bytes, the end of the stream or an error can be received.
    package var isReadable: Bool { (try? wait(for: Int16(POLLIN), milliseconds: 0)) ?? true }

    /// Whether sending would not wait.
    package var isWritable: Bool { (try? wait(for: Int16(POLLOUT), milliseconds: 0)) ?? true }

    /// Whether the end of the stream is the next thing to be received.
    package var isAtEnd: Bool {
        var byte: UInt8 = 0
        return recv(descriptor.rawValue, &byte, 1, Platform.peek) == 0
    }

    /// Ends receiving: a call that waits returns the end of the stream.
    package func shutdownRead() {
        _ = shutdown(descriptor.rawValue, Platform.shutdownRead)
    }

    /// Ends this side's stream once what was sent has gone out.
    package func shutdownWrite() {
        _ = shutdown(descriptor.rawValue, Platform.shutdownWrite)
    }

    /// A second descriptor of the same connection, for a loop to watch. It must not be used to send or receive.
    @NetworkActor package func watcher() throws(SystemError) -> StreamSocket {
        let copy = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
        return try StreamSocket(adopting: Descriptor(checking: copy, "fcntl"))
    }

    /// Waits until the descriptor is ready for `events`, for so many milliseconds at most (negative: without a limit).
    /// False when they have passed.
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
    /// Gives the connection to the caller: the loop no longer watches it, and this socket counts as closed.
    package func detach() throws(SystemError) -> BlockingSocket {
        guard let descriptor = channel.release() else { throw SystemError(code: EBADF, operation: "detach") }
        return BlockingSocket(adopting: descriptor)
    }

    /// Gives the open, non-blocking descriptor to the caller: the loop no longer watches it, and this socket counts as
    /// closed. `nil` when it was closed before.
    package func releaseDescriptor() -> Int32? {
        channel.release()?.release()
    }
}
