import Foundation
internal import PurlIO
import Synchronization

/// The file of an unfinished download.
final class PartialFile: FileSink, PipedSink, ConcurrentSink {
    let location: URL
    private let files: any FileLayer
    private let state: Mutex<State>

    private enum Handle {
        /// The file is to be created in this folder.
        case missing(PartialsFolder)
        case open(any OpenFile)
        case removed
    }

    private struct State {
        var handle: Handle
        /// The bytes of complete appends. After a write that failed half-way the file itself may be longer.
        var written: Int64
        /// The folder's entry for the file has been synchronised.
        var isNameSafe: Bool
    }

    /// A new, empty file in `folder`. It is created when it is first written to or truncated: that may take the disk a
    /// while, and the network thread does not wait for it.
    init(creatingIn folder: PartialsFolder) {
        location = folder.url.appendingPathComponent(
            "\(Self.prefix)\(UUID.random.uuidString.lowercased())\(Self.suffix)")
        files = folder.files
        state = Mutex(State(handle: .missing(folder), written: 0, isNameSafe: false))
    }

    /// The open file, which is created first where it is missing.
    private func opened() throws(FileFailure) -> any OpenFile {
        try state.withLock { state throws(FileFailure) in
            switch state.handle {
            case .open(let file): return file
            case .removed: throw FileFailure(.open, location, SystemError(code: ENOENT, operation: "open"))
            case .missing(let folder):
                do {
                    let file = try Self.create(location.path, in: folder)
                    _ = try file.lock()
                    state.handle = .open(file)
                    folder.removeUnclaimedOnce()
                    return file
                } catch {
                    throw FileFailure(.create, location, error)
                }
            }
        }
    }

    /// Creates the folder only when it turns out to be missing.
    private static func create(_ path: String, in folder: PartialsFolder) throws -> any OpenFile {
        do {
            return try folder.files.open(path, .creating)
        } catch  where error.code == ENOENT {
            try folder.prepare()
            return try folder.files.open(path, .creating)
        }
    }

    /// Opens the file that resume data names; `nil` when it is gone, not a plain file, not ours to open or in use.
    ///
    /// - Throws: When the process lacks descriptors or memory: the file may well be good.
    init?(named name: String, in folder: PartialsFolder) throws(FileFailure) {
        location = folder.url.appendingPathComponent(name)
        files = folder.files
        let file: any OpenFile
        do throws(LockFailure) {
            file = try files.openLocked(location.path, .existing)
        } catch {
            if error.systemError.isShortage { throw FileFailure(.open, location, error.systemError) }
            return nil
        }
        guard let size = try? file.size() else { return nil }
        state = Mutex(State(handle: .open(file), written: size, isNameSafe: true))
    }

    var name: String { location.lastPathComponent }
    var recordedName: String { name }
    var fileURL: URL? { location }

    private static let prefix = "purl-"
    private static let suffix = ".partial"

    /// Whether this is the name of a partial file.
    static func isName(_ name: String) -> Bool {
        name.hasPrefix(prefix) && name.hasSuffix(suffix)
            && UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(suffix.count))) != nil
    }

    /// Gives the file the mode of one that the program creates, since it is the program's now.
    ///
    /// - Returns: Where the file is.
    func handOver() -> URL {
        // A file system without modes has none to give.
        try? opened().openToOthers()
        return location
    }

    /// Removes and closes the file. Its room on the disk is freed here, not on the thread of its last owner.
    func remove() {
        files.remove(location.path)
        let last = state.withLock { state in
            defer { state.handle = .removed }
            return state.handle
        }
        withExtendedLifetime(last) {}
    }

    // MARK: BodySink

    /// Throws when the file is no longer where it was: bytes that no task can find do not count.
    var length: Int64 {
        get throws {
            guard try opened().isFound(at: location.path) else {
                throw FileFailure(.open, location, SystemError(code: ENOENT, operation: "stat"))
            }
            return state.withLock { $0.written }
        }
    }

    func append(_ data: Data) throws {
        try append(data.count) { (file, offset) throws(SystemError) in try file.write(data.bytes, at: offset) }
    }

    func append(_ count: Int, from pipe: ContentPipe) throws {
        try append(count) { (file, offset) throws(SystemError) in try file.write(count, from: pipe, at: offset) }
    }

    private func append(_ count: Int, by write: (any OpenFile, Int64) throws(SystemError) -> Void) throws {
        let offset = state.withLock { $0.written }
        do {
            try write(opened(), offset)
        } catch {
            throw FileFailure(.write, location, error)
        }
        state.withLock { $0.written = offset + Int64(count) }
    }

    func truncate(to length: Int64) throws {
        do {
            try opened().truncate(to: length)
        } catch {
            throw FileFailure(.write, location, error)
        }
        state.withLock { $0.written = length }
    }

    func bytes(in range: Range<Int64>) throws -> Data {
        try opened().read(range.count, at: range.lowerBound)
    }

    func synchronize() throws {
        try makeSynchronization()()
    }

    func makeSynchronization() throws -> @Sendable () throws -> Void {
        let file = try opened()
        return { try self.synchronize(file) }
    }

    private func synchronize(_ file: any OpenFile) throws(FileFailure) {
        do {
            try file.synchronize()
            guard !state.withLock({ $0.isNameSafe }) else { return }
            try files.synchronizeFolder(location.deletingLastPathComponent().path)
            state.withLock { $0.isNameSafe = true }
        } catch {
            throw FileFailure(.write, location, error)
        }
    }

    var completion: SinkCompletion { .safe }

    func loadRecord() -> Data? { nil }
    func saveRecord(_ record: Data?) {}
    func synchronizeRecord() {}

    /// Unlocks the file: the next task may continue it before the last call of this one has been made.
    func close() {
        let handle = state.withLock { $0.handle }
        if case .open(let file) = handle { file.unlock() }
    }

    func closeWithoutWaiting() { close() }
}

extension SystemError {
    /// Whether the process or the machine lacks descriptors or memory, which may pass.
    fileprivate var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(code) }
}
