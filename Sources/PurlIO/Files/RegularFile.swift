/// An open file on disk, with positioned reads and writes: each either completes or throws the system's error.
///
/// The calls block, so they are not made on the network thread.
package struct RegularFile: ~Copyable, Sendable {
    /// How a file is opened.
    package enum Opening: Sendable {
        /// It must not exist yet; it is readable by its owner only.
        case creating
        /// It must exist, and must not be a symbolic link.
        case existing
        /// It is created, readable by its owner only, when it does not exist; it must not be a symbolic link.
        case existingOrNew
    }

    private let descriptor: Descriptor

    /// Opens the file at `path` for reading and writing.
    package init(_ path: String, _ opening: Opening) throws(SystemError) {
        let creation: Int32 =
            switch opening {
            case .creating: O_CREAT | O_EXCL
            case .existing: 0
            case .existingOrNew: O_CREAT
            }
        let number = Self.retrying { open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | creation, 0o600) }
        let descriptor = try Descriptor(checking: number, "open")
        try Self.checkKind(of: descriptor)
        self.descriptor = descriptor
    }

    /// Opens the file at `path` for reading.
    ///
    /// - Parameter followsLinks: The path may be a symbolic link, as that of a file of the user's may.
    package init(reading path: String, followsLinks: Bool = true) throws(SystemError) {
        // The system would take the path to end there.
        guard !path.utf8.contains(0) else { throw SystemError(code: ENOENT, operation: "open") }
        // Without O_NONBLOCK opening a pipe would wait for a writer.
        let number = Self.retrying { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)) }
        let descriptor = try Descriptor(checking: number, "open")
        try Self.checkKind(of: descriptor)
        self.descriptor = descriptor
    }

    private static func checkKind(of descriptor: borrowing Descriptor) throws(SystemError) {
        switch try status(of: descriptor).st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw SystemError(code: EISDIR, operation: "open")
        default: throw SystemError(code: EINVAL, operation: "open")
        }
    }

    /// Locks the file. False when another descriptor, in this process or another, has locked it.
    package func lock() throws(SystemError) -> Bool {
        if Self.retrying({ flock(descriptor.rawValue, LOCK_EX | LOCK_NB) }) == 0 { return true }
        let error = SystemError.last("flock")
        if error.code == EWOULDBLOCK { return false }
        throw error
    }

    /// Unlocks the file.
    package func unlock() {
        _ = Self.retrying { flock(descriptor.rawValue, LOCK_UN) }
    }

    /// The length in bytes.
    package func size() throws(SystemError) -> Int64 {
        Int64(try Self.status(of: descriptor).st_size)
    }

    /// The length in bytes, and when the file was last written to, since 1970.
    package func state() throws(SystemError) -> (size: Int64, seconds: Int64, nanoseconds: Int64) {
        let status = try Self.status(of: descriptor)
        let time = Self.modificationTime(status)
        return (Int64(status.st_size), time.seconds, time.nanoseconds)
    }

    /// When a file was last written to, since 1970.
    package static func modificationTime(_ status: stat) -> (seconds: Int64, nanoseconds: Int64) {
        let time = Platform.modificationTime(status)
        return (Int64(time.tv_sec), Int64(time.tv_nsec))
    }

    /// Whether this file is the one at `path`: it may have been removed or moved while it was open.
    package func isFound(at path: String) -> Bool { Self.isFound(descriptor.rawValue, at: path) }

    /// Whether the file of an open descriptor is the one at `path`; see ``isFound(at:)``.
    package static func isFound(_ descriptor: Int32, at path: String) -> Bool {
        var (own, found) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &found) == 0 && found.st_ino == own.st_ino
            && found.st_dev == own.st_dev
    }

    /// Reserves room on the disk for the first `length` bytes of an open file, and leaves its length as it is. A file system
    /// that cannot reserve any is not an error.
    package static func reserve(_ length: Int64, in descriptor: Int32) throws(SystemError) {
        while Platform.reserve(length, in: descriptor) != 0 {
            switch errno {
            case EINTR: continue
            case ENOSPC, EDQUOT, EFBIG: throw SystemError.last("fallocate")
            default: return
            }
        }
    }

    /// Whether the file belongs to the user that this process acts for.
    package var isOwn: Bool {
        (try? Self.status(of: descriptor).st_uid) == geteuid()
    }

    /// Whether a file, and no symbolic link to one, is at `path`.
    package static func exists(at path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
    }

    private static func status(of descriptor: borrowing Descriptor) throws(SystemError) -> stat {
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0 else { throw .last("fstat") }
        return status
    }

    /// Writes all of `bytes` at `offset`.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try Self.write(bytes, to: descriptor.rawValue, at: offset)
    }

    /// Moves `count` bytes, which are in the pipe, to `offset`.
    package func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        try pipe.empty(count, into: descriptor.rawValue, at: offset)
    }

    /// Sends at most `count` bytes, one at least, from `offset` on. The move ends where the file does.
    @NetworkActor package func send(
        _ count: Int, from offset: Int64, through transport: any LoopTransport
    ) throws(SystemError) -> TransportMove {
        try transport.send(count, ofFile: descriptor.rawValue, from: offset)
    }

    /// Has the system read these bytes into memory ahead of their use.
    package func prefetch(_ count: Int, at offset: Int64) {
        Platform.prefetch(descriptor.rawValue, count: count, at: offset)
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let position = off_t(offset) + off_t(done)
            let count = retrying { pwrite(file, rest.baseAddress, rest.count, position) }
            guard count > 0 else { throw count < 0 ? .last("pwrite") : SystemError(code: EIO, operation: "pwrite") }
            done += count
        }
    }

    /// Reads from `offset` until `buffer` is full or the file ends; returns the count.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let position = off_t(offset) + off_t(done)
            let count = Self.retrying { pread(descriptor.rawValue, rest.baseAddress, rest.count, position) }
            guard count >= 0 else { throw .last("pread") }
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    /// The bytes from `offset`, at most `count`; fewer where the file ends.
    package func read(_ count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
        // An array without capacity is one that all threads share.
        guard count > 0 else { return [] }
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, length throws(SystemError) in
            length = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }

    /// Cuts the file, or extends it with zeros, to `length` bytes.
    package func truncate(to length: Int64) throws(SystemError) {
        guard Self.retrying({ ftruncate(descriptor.rawValue, off_t(length)) }) == 0 else { throw .last("ftruncate") }
    }

    /// Returns when all that was written has reached the disk.
    package func synchronize() throws(SystemError) {
        guard Self.retrying({ fsync(descriptor.rawValue) }) == 0 else { throw .last("fsync") }
    }

    // MARK: Names

    /// Renames the file at `path`, and replaces the file at `newPath`, in one step.
    package static func move(_ path: String, to newPath: String) throws(SystemError) {
        guard retrying({ rename(path, newPath) }) == 0 else { throw .last("rename") }
    }

    /// Removes the file at `path`, if there is one.
    package static func remove(_ path: String) {
        _ = retrying { unlink(path) }
    }

    /// Removes the file or link at `path`, never a folder. False when there is none.
    package static func removeExisting(_ path: String) throws(SystemError) -> Bool {
        if retrying({ unlink(path) }) == 0 { return true }
        let error = SystemError.last("unlink")
        if error.code == ENOENT { return false }
        throw error
    }

    /// Returns when the names in the folder at `path` have reached the disk.
    package static func synchronizeFolder(_ path: String) throws(SystemError) {
        let descriptor = try Descriptor(checking: retrying { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }, "open")
        guard retrying({ fsync(descriptor.rawValue) }) == 0 else { throw .last("fsync") }
    }

    private static func retrying<Result: FixedWidthInteger>(_ call: () -> Result) -> Result {
        while true {
            let result = call()
            if result == -1, errno == EINTR { continue }
            return result
        }
    }
}
