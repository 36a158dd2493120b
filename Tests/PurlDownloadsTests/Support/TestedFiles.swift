import Foundation
import Purl
import PurlIO
import Synchronization

/// The system's files, in a boot that a test chooses, on a disk that takes no byte behind a limit, and has no room to reserve
/// behind another one, and perhaps lets no file become shorter, or fails once when it is read or synchronised.
struct TestedFiles: FileLayer {
    let boot: String
    var limit = Int64.max
    var room = Int64.max
    var truncates = true
    /// The read that fails: the first is 0.
    var failingRead: Int?
    let reads = Reads()
    var losses = Losses()
    let reservations = Reservations()

    /// The lengths that files were to have room for.
    final class Reservations: Sendable {
        private let state = Mutex<[Int64]>([])

        var lengths: [Int64] { state.withLock { $0 } }

        fileprivate func add(_ length: Int64) { state.withLock { $0.append(length) } }
    }

    /// Bytes that the disk has lost: one synchronisation is told, and every later one succeeds.
    final class Losses: Sendable {
        private let untold = Atomic(0)

        func add() { untold.store(1, ordering: .relaxed) }

        fileprivate func tell() throws(SystemError) {
            if untold.exchange(0, ordering: .relaxed) > 0 { throw SystemError(code: EIO, operation: "fsync") }
        }
    }

    final class Reads: Sendable {
        fileprivate let count = Atomic(0)
    }

    fileprivate func read() throws(SystemError) {
        let number = reads.count.wrappingAdd(1, ordering: .relaxed).oldValue
        if number == failingRead { throw SystemError(code: EIO, operation: "pread") }
    }

    var bootIdentifier: String? { boot }

    func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        TestedFile(try SystemFiles().open(path, opening), self)
    }

    func move(_ path: String, to newPath: String) throws(SystemError) { try SystemFiles().move(path, to: newPath) }

    func removeExisting(_ path: String) throws(SystemError) -> Bool { try SystemFiles().removeExisting(path) }

    func synchronizeFolder(_ path: String) throws(SystemError) { try SystemFiles().synchronizeFolder(path) }
}

private final class TestedFile: OpenFile {
    private let file: any OpenFile
    private let disk: TestedFiles

    init(_ file: any OpenFile, _ disk: TestedFiles) {
        self.file = file
        self.disk = disk
    }

    func reserve(_ length: Int64) throws(SystemError) {
        guard length <= disk.room else { throw SystemError(code: ENOSPC, operation: "fallocate") }
        try file.reserve(length)
        disk.reservations.add(length)
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        // The journal's pages were there before the disk was full.
        if offset >= disk.limit, bytes.count < 4096 { throw SystemError(code: ENOSPC, operation: "pwrite") }
        try file.write(bytes, at: offset)
    }

    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        try file.write(count, from: pipe, at: offset)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try disk.read()
        return try file.read(into: buffer, at: offset)
    }

    func truncate(to length: Int64) throws(SystemError) {
        guard disk.truncates else { throw SystemError(code: EIO, operation: "ftruncate") }
        try file.truncate(to: length)
    }

    func synchronize() throws(SystemError) {
        try disk.losses.tell()
        try file.synchronize()
    }
}
