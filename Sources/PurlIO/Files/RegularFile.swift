import Synchronization

/// An open file on disk, with positioned reads and writes: each either completes or throws the system's error.
///
/// The calls block, so they are not made on the network thread.
package final class RegularFile: OpenFile {
    /// How a file is opened.
    package enum Opening: Sendable {
        /// It must not exist yet; it is readable by its owner only.
        case creating
        /// It must exist, and must not be a symbolic link.
        case existing
        /// It is created, readable by its owner only, when it does not exist; it must not be a symbolic link.
        case existingOrNew
        /// The same for a file of the user's, which others may read as the process's mask lets them.
        case existingOrNewDocument
        /// It must exist, and must not be a symbolic link; it is only read.
        case reading
    }

    private let descriptor: Descriptor
    /// By this object: a duplicate of the caller's descriptor shares a lock that is the caller's.
    private let isLocked = Atomic(false)

    /// Opens the file at `path`, for reading and writing unless it is only to be read.
    package convenience init(_ path: String, _ opening: Opening) throws(SystemError) {
        let flags: Int32 =
            switch opening {
            case .creating: O_RDWR | O_CREAT | O_EXCL
            case .existing: O_RDWR
            case .existingOrNew, .existingOrNewDocument: O_RDWR | O_CREAT
            case .reading: O_RDONLY
            }
        let mode: mode_t = if case .existingOrNewDocument = opening { 0o666 } else { 0o600 }
        try self.init(path, O_NOFOLLOW | flags, mode)
        if flags & O_CREAT != 0 { letOwnerReopen() }
    }

    /// Lets the owner of a new file read and write it, whatever the process's mask: it must be possible to open it again.
    private func letOwnerReopen() {
        guard let status = try? Self.status(of: descriptor), status.st_size == 0, status.st_mode & 0o600 != 0o600
        else { return }
        // A file system without modes has no need of it.
        _ = fchmod(descriptor.rawValue, status.st_mode & 0o777 | 0o600)
    }

    /// Opens the file at `path` for reading.
    ///
    /// - Parameter followsLinks: The path may be a symbolic link, as that of a file of the user's may.
    package convenience init(reading path: String, followsLinks: Bool = true) throws(SystemError) {
        try self.init(path, O_RDONLY | (followsLinks ? 0 : O_NOFOLLOW), 0)
    }

    private convenience init(_ path: String, _ flags: Int32, _ mode: mode_t) throws(SystemError) {
        // The system would take the path to end there.
        guard !path.utf8.contains(0) else { throw SystemError(code: ENOENT, operation: "open") }
        // Without O_NONBLOCK opening a pipe would wait for its other end.
        let number = RegularFile.retrying { open(path, flags | O_CLOEXEC | O_NONBLOCK, mode) }
        try self.init(checking: Descriptor(checking: number, "open"))
    }

    /// The file of an open descriptor, which stays the caller's.
    package convenience init(duplicating descriptor: Int32) throws(SystemError) {
        let number = RegularFile.retrying { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
        try self.init(checking: Descriptor(checking: number, "dup"))
    }

    private init(checking descriptor: consuming Descriptor) throws(SystemError) {
        try RegularFile.checkKind(of: descriptor)
        self.descriptor = descriptor
    }

    /// A process that is being started has the descriptor, too, and the lock with it, until it runs its program: closing alone
    /// would leave the file locked for as long.
    deinit {
        if isLocked.load(ordering: .acquiring) { unlock() }
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
        if Self.retrying({ flock(descriptor.rawValue, LOCK_EX | LOCK_NB) }) == 0 {
            isLocked.store(true, ordering: .releasing)
            return true
        }
        let error = SystemError.last("flock")
        if error.code == EWOULDBLOCK { return false }
        throw error
    }

    /// Unlocks the file.
    package func unlock() {
        _ = Self.retrying { flock(descriptor.rawValue, LOCK_UN) }
        isLocked.store(false, ordering: .releasing)
    }

    /// What the file is now.
    package func status() throws(SystemError) -> FileStatus { FileStatus(try Self.status(of: descriptor)) }

    /// Whether this file is the one at `path`: it may have been removed or moved while it was open.
    package func isFound(at path: String) -> Bool {
        guard let own = try? status(), let found = FileEntry(atPath: path).regularFile else { return false }
        return own.identity == found.identity
    }

    /// Gives the file the mode of one that the program creates for itself: readable and writable as far as the process's mask
    /// lets it. Where the system does not tell the mask, the mode stays.
    package func openToOthers() throws(SystemError) {
        guard let mask = Platform.fileCreationMask() else { return }
        guard fchmod(descriptor.rawValue, 0o666 & ~mask) == 0 else { throw .last("fchmod") }
    }

    /// Reserves room on the disk for the first `length` bytes, and leaves the file's length as it is. A file system that
    /// cannot reserve any is not an error.
    package func reserve(_ length: Int64) throws(SystemError) {
        while Platform.reserve(length, in: descriptor.rawValue) != 0 {
            switch errno {
            case EINTR: continue
            case ENOSPC, EDQUOT, EFBIG: throw SystemError.last("fallocate")
            default: return
            }
        }
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

    /// Sets when the file was last written to, as a simulation has it.
    package func setModificationTime(_ time: FileStatus.Time) throws(SystemError) {
        let moment = timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
        guard Self.retrying({ futimens(descriptor.rawValue, [moment, moment]) }) == 0 else { throw .last("futimens") }
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

    /// Renames the file at `path` in one step, unless there is something at `newPath`: then it throws `EEXIST`. Where the file
    /// system cannot do both in one step, it looks first.
    package static func move(_ path: String, toFree newPath: String) throws(SystemError) {
        if retrying({ Platform.renameToFreeName(path, newPath) }) == 0 { return }
        let error = SystemError.last("rename")
        guard [EINVAL, ENOSYS, ENOTSUP].contains(error.code) else { throw error }
        guard FileEntry(atPath: newPath) == .missing else { throw SystemError(code: EEXIST, operation: "rename") }
        try move(path, to: newPath)
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
