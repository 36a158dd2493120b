/// A pipe through which the system moves content from a connection into a file, past this process's memory.
///
/// It is filled on the network thread, and emptied on the thread that writes the file. Bytes that the system cannot move
/// into a file are copied, so emptying works with every file.
package final class ContentPipe: Sendable {
    /// How many bytes the pipe is to hold. The system may grant less.
    private static let desiredCapacity: Int32 = 1 << 20

    private let entrance: Descriptor
    private let exit: Descriptor

    /// Throws when there are no descriptors left, or the system has no `splice`.
    package init() throws(SystemError) {
        let ends = try Platform.splicingPipe(capacity: Self.desiredCapacity)
        exit = Descriptor(owning: ends.exit)
        entrance = Descriptor(owning: ends.entrance)
    }

    /// Moves bytes that have arrived into the pipe, at most `limit`. Nothing is moved either when the pipe is full.
    @NetworkActor package func fill(
        from transport: any LoopTransport, limit: Int
    ) throws(SystemError) -> TransportMove {
        try transport.receive(limit, intoPipe: entrance.rawValue)
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
            // The file system has no splice, or the file was opened for appending.
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
