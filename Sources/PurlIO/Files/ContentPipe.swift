/// A way for content from a socket into a file that does not lead through this process's memory.
///
/// One side is filled on the I/O thread, the other emptied wherever files are written; what is in between is the
/// system's. Where the system will not move bytes into some file they are copied, so emptying works with every file.
package final class ContentPipe: Sendable {
    /// How much the system is asked to let wait in the pipe. It may grant less.
    private static let wishedCapacity: Int32 = 1 << 20

    private let entrance: Descriptor
    private let exit: Descriptor

    /// Throws when there are no descriptors left, or the system has no such way.
    package init() throws(SystemError) {
        let ends = try Platform.splicingPipe(capacity: Self.wishedCapacity)
        exit = Descriptor(owning: ends.exit)
        entrance = Descriptor(owning: ends.entrance)
    }

    /// Moves into the pipe what has arrived, `limit` bytes at most. Nil: nothing there yet, or no room; 0: end of stream.
    @NetworkActor package func fill(from socket: StreamSocket, limit: Int) throws(SystemError) -> Int? {
        while true {
            let count = Platform.splice(socket.channel.descriptor.rawValue, to: entrance.rawValue, count: limit)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return nil
            default: throw SystemError.last("splice")
            }
        }
    }

    /// Moves `count` bytes, which are in the pipe, to `offset` of a file. Blocks.
    package func empty(_ count: Int, into file: Int32, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < count {
            let moved = Platform.splice(exit.rawValue, to: file, at: offset + Int64(done), count: count - done)
            if moved > 0 {
                done += moved
                continue
            }
            switch errno {
            case _ where moved == 0: throw SystemError(code: EIO, operation: "splice")
            case EINTR: continue
            // The file system, or a file opened for appending, does not take it this way.
            case EINVAL, ENOSYS, EBADF: return try copy(count - done, into: file, at: offset + Int64(done))
            default: throw SystemError.last("splice")
            }
        }
    }

    private func copy(_ count: Int, into file: Int32, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < count {
            let content = try bytes(min(1 << 18, count - done))
            try content.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
                try RegularFile.write(bytes, to: file, at: offset + Int64(done))
            }
            done += content.count
        }
    }

    /// Takes the next `count` bytes, which are in the pipe.
    package func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
        var content = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let taken = content.withUnsafeMutableBytes { buffer in
                read(exit.rawValue, UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).baseAddress, count - done)
            }
            if taken < 0, errno == EINTR { continue }
            guard taken > 0 else { throw taken < 0 ? .last("read") : SystemError(code: EIO, operation: "read") }
            done += taken
        }
        return content
    }
}
