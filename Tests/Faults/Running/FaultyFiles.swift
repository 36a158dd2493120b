internal import Purl
internal import PurlIO
import Synchronization

/// The system's files, on a disk of which one thing may be wrong. Only what is downloaded feels it.
final class FaultyFiles: FileLayer {
    /// What does not work.
    enum Failure: Sendable {
        case open(Int32)
        /// There is room for so many bytes in all.
        case write(Int32, after: Int)
        case synchronize(Int32)
        case truncate(Int32)
        case move(Int32)
    }

    private struct State {
        var failure: Failure?
        var written = 0
    }

    private let state = Mutex(State())

    /// From now on this does not work.
    func fail(_ failure: Failure) {
        state.withLock { $0 = State(failure: failure) }
    }

    /// From now on everything works.
    func behave() {
        state.withLock { $0 = State() }
    }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        guard path.hasSuffix(".partial") || path.hasSuffix("/sink") else {
            return try SystemFiles().open(path, opening)
        }
        if case .open(let code) = state.withLock({ $0.failure }) { throw SystemError(code: code, operation: "open") }
        return FaultyFile(try SystemFiles().open(path, opening), self)
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try SystemFiles().move(path, to: newPath)
    }

    func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        try SystemFiles().removeExisting(path)
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try SystemFiles().synchronizeFolder(path)
    }

    fileprivate func willSynchronize() throws(SystemError) {
        if case .synchronize(let code) = state.withLock({ $0.failure }) {
            throw SystemError(code: code, operation: "fsync")
        }
    }

    fileprivate func willTruncate() throws(SystemError) {
        if case .truncate(let code) = state.withLock({ $0.failure }) {
            throw SystemError(code: code, operation: "ftruncate")
        }
    }

    /// How many of `count` bytes there is room for, and the error for the others.
    fileprivate func room(for count: Int) -> (count: Int, error: SystemError?) {
        state.withLock { state in
            guard case .write(let code, let limit) = state.failure else { return (count, nil) }
            let room = min(count, max(0, limit - state.written))
            state.written += room
            return (room, room < count ? SystemError(code: code, operation: "pwrite") : nil)
        }
    }
}

private final class FaultyFile: OpenFile {
    private let file: any OpenFile
    private let disk: FaultyFiles

    init(_ file: any OpenFile, _ disk: FaultyFiles) {
        self.file = file
        self.disk = disk
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        let room = disk.room(for: bytes.count)
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<room.count]), at: offset)
        if let error = room.error { throw error }
    }

    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        let room = disk.room(for: count)
        try file.write(room.count, from: pipe, at: offset)
        if let error = room.error { throw error }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func truncate(to length: Int64) throws(SystemError) {
        try disk.willTruncate()
        try file.truncate(to: length)
    }

    func synchronize() throws(SystemError) {
        try disk.willSynchronize()
        try file.synchronize()
    }
}
