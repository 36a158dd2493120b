import Foundation
internal import PurlIO
import Synchronization

/// A sink that appends to a file through a `FileHandle`.
///
/// ```swift
/// let sink = FileHandleSink(fileAt: movieURL)
/// let task = session.dataTask(with: request, writingTo: sink)
/// task.resume()          // run it again after a crash: it resumes where the file ends
/// ```
///
/// While a task writes to it, the file is locked: a second sink on the same file, in this process or another, fails
/// with `URLError.cannotOpenFile`. So does a path at which there is a symbolic link, a file with a second name (a hard
/// link), or anything but a regular file: see <doc:FilesAndNames>.
public final class FileHandleSink: FileSink, PipedSink, ConcurrentSink {
    /// The file written to; `nil` for a sink made from a handle.
    public var fileURL: URL? { state.withLock { $0.url } }

    var recordedName: String { fileURL?.lastPathComponent ?? "handle" }

    package let completion: SinkCompletion

    private struct State {
        var url: URL?
        var record: RecordFile?
        var handle: FileHandle?
        var closing: Closing
        /// Whether room on the disk is reserved for the whole resource before its first byte.
        var reservesSpace = false
        var maximumLength = Int64.max

        var exists: Bool { url.map { FileManager.default.fileExists(atPath: $0.path) } ?? false }
    }

    /// When the file is closed, and so unlocked.
    private enum Closing {
        /// Never: the handle is the caller's.
        case byCaller
        case atEnd
        /// Not at the end of a task: ``unlock()`` closes it.
        case whenUnlocked
    }

    private let state: Mutex<State>

    /// A sink on the file at `url`, which is created when it is missing.
    ///
    /// - Parameter url: The address of the file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. By default beside the file, with ".resume"
    ///   appended to its name.
    public convenience init(fileAt url: URL, recordAt recordURL: URL? = nil) {
        self.init(fileAt: url, recordAt: recordURL, completion: .safe)
    }

    /// A sink on the file at `url`, and what its completion promises.
    package init(fileAt url: URL, recordAt recordURL: URL?, completion: SinkCompletion) {
        self.completion = completion
        let record = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"))
        state = Mutex(State(url: url, record: record, handle: nil, closing: .atEnd))
    }

    /// A sink on an open file, readable and writable. It is not closed by the sink.
    ///
    /// - Parameter handle: The open file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. Without it bytes that are there cannot be
    ///   trusted, and a transfer starts over.
    public init(_ handle: FileHandle, recordAt recordURL: URL?) {
        completion = .safe
        state = Mutex(State(record: recordURL.map { RecordFile(url: $0) }, handle: handle, closing: .byCaller))
    }

    /// Moves the file to `url`, and its record with it; replaces what is there. A task that is writing continues
    /// in the moved file.
    ///
    /// - Parameters:
    ///   - url: Where the file is to be.
    ///   - recordURL: Where to keep what is known of the bytes; `nil` puts it beside the file.
    public func move(to url: URL, recordAt recordURL: URL? = nil) throws {
        let newRecord = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"))
        try state.withLock { state in
            guard let old = state.url else { throw CocoaError(.fileNoSuchFile) }
            if FileManager.default.fileExists(atPath: old.path) {
                guard rename(old.path, url.path) == 0 else { throw NSError.system(at: url) }
            }
            let record = try state.record?.load()
            try newRecord.save(record)
            try newRecord.synchronize()
            if let oldRecord = state.record, oldRecord.url.path != newRecord.url.path { try oldRecord.save(nil) }
            state.url = url
            state.record = newRecord
        }
    }

    /// Lets a task for `url`, the resource's new address, resume from the bytes there are, provided that the server's
    /// validator there is still the one they arrived with: after a link has expired, for example. Without a record nothing
    /// happens.
    ///
    /// - Parameter url: The new address of the resource.
    public func adopt(_ url: URL) throws {
        try state.withLock { state in
            guard let record = try state.record?.load(), var resume = try? ResumeData(decoding: record) else { return }
            resume.originalRequest.url = url.absoluteString
            resume.currentRequest.url = url.absoluteString
            try state.record?.save(try resume.encoded())
            try state.record?.synchronize()
        }
    }

    /// Lets a task for `url` resume from the bytes there are, which another server has sent, as if they belonged to the version
    /// that `response` describes. For an owner who checks a digest of the whole: nothing else tells whether that is so. Without
    /// a record, and where the response cannot be resumed or has another length, nothing happens.
    ///
    /// - Parameters:
    ///   - url: The address that the task will have.
    ///   - response: The response to a request of that server for the resource or its head.
    ///   - content: What the bytes are, where the response has a content coding.
    package func adopt(_ url: URL, asVersionOf response: HTTPURLResponse, _ content: CodedContent) throws {
        try state.withLock { state in
            let head = content.contentHead(response.head)
            guard let validator = Resumability.validator(for: URLRequest(url: url), response: head),
                let record = try state.record?.load(), var resume = try? ResumeData(decoding: record)
            else { return }
            let total = response.expectedContentLength
            guard total < 0 || resume.totalBytes == nil || resume.totalBytes == total else { return }
            resume.originalRequest.url = url.absoluteString
            resume.currentRequest.url = url.absoluteString
            resume.validator = validator
            try state.record?.save(try resume.encoded())
            try state.record?.synchronize()
        }
    }

    // MARK: For one owner of several tasks

    /// Locks the file, created when it is missing, until ``unlock()``: also between tasks, and while the file is renamed.
    package func lock() throws {
        try state.withLock { state in
            guard state.handle == nil, let url = state.url else { return }
            state.handle = try FileHandle.locked(url)
            state.closing = .whenUnlocked
        }
    }

    /// Closes the file that ``lock()`` has opened.
    package func unlock() {
        state.withLock { state in
            guard case .whenUnlocked = state.closing else { return }
            state.handle?.unlockAndClose()
            state.handle = nil
            state.closing = .atEnd
        }
    }

    /// Reserves room on the disk before the first byte of a resource whose length is known, and takes no bytes beyond a length.
    package func limit(to maximumLength: Int64?, reservingSpace reservesSpace: Bool) {
        state.withLock { state in
            state.maximumLength = maximumLength ?? .max
            state.reservesSpace = reservesSpace
        }
    }

    /// Reserves room for `total` bytes, if that is wanted. The file's length stays, since it counts the bytes that were written.
    func reserve(upTo total: Int64) throws {
        guard total > 0, state.withLock({ $0.reservesSpace }) else { return }
        do {
            try withHandle { try RegularFile.reserve(total, in: $0.fileDescriptor) }
        } catch let error as SystemError {
            throw NSError(domain: NSPOSIXErrorDomain, code: Int(error.code))
        }
    }

    // MARK: BodySink

    public var length: Int64 {
        get throws {
            // This creates no file: the server may have nothing to put into it.
            guard state.withLock({ $0.handle != nil || $0.exists }) else { return 0 }
            return Int64(try withHandle { try $0.seekToEnd() })
        }
    }

    public func append(_ data: Data) throws {
        let maximum = maximumLength
        try withHandle { handle in
            try Self.check(try handle.seekToEnd(), data.count, maximum)
            try handle.write(contentsOf: data)
        }
    }

    func append(_ count: Int, from pipe: ContentPipe) throws {
        let maximum = maximumLength
        try withHandle { handle in
            let offset = try handle.seekToEnd()
            try Self.check(offset, count, maximum)
            try pipe.empty(count, into: handle.fileDescriptor, at: Int64(offset))
        }
    }

    private var maximumLength: Int64 { state.withLock { $0.maximumLength } }

    private static func check(_ offset: UInt64, _ count: Int, _ maximum: Int64) throws {
        guard Int64(offset) + Int64(count) > maximum else { return }
        throw LengthLimitPassed(maximum: maximum)
    }

    public func truncate(to length: Int64) throws {
        try withHandle { try $0.truncate(atOffset: UInt64(max(0, length))) }
    }

    public func bytes(in range: Range<Int64>) throws -> Data {
        try withHandle { try $0.bytes(in: range) }
    }

    public func synchronize() throws {
        try makeSynchronization()()
    }

    package func makeSynchronization() throws -> @Sendable () throws -> Void {
        let file = try withHandle { try $0.duplicate() }
        return { try file.synchronize() }
    }

    public func loadRecord() throws -> Data? {
        try state.withLock { $0.record }?.load()
    }

    /// Locks the file first: only its owner may change the record.
    ///
    /// - Parameter record: The record; `nil` removes it.
    public func saveRecord(_ record: Data?) throws {
        try withHandle { _ in }
        try state.withLock { $0.record }?.save(record)
    }

    package func synchronizeRecord() throws {
        try state.withLock { $0.record }?.synchronize()
    }

    public func close() throws {
        defer { try? closeWithoutWaiting() }
        // Still under the lock.
        try synchronizeRecord()
    }

    package func closeWithoutWaiting() throws {
        try state.withLock { state in
            state.record?.close()
            // What was reserved and not used is free again.
            if state.reservesSpace, let handle = state.handle {
                try handle.truncate(atOffset: try handle.seekToEnd())
            }
            guard case .atEnd = state.closing else { return }
            state.handle?.unlockAndClose()
            state.handle = nil
        }
    }

    private func withHandle<Result: Sendable>(_ body: (FileHandle) throws -> Result) throws -> Result {
        try state.withLock { state in
            if let handle = state.handle { return try body(handle) }
            guard let url = state.url else { throw CocoaError(.fileNoSuchFile) }
            let handle = try FileHandle.locked(url)
            state.handle = handle
            return try body(handle)
        }
    }
}

/// A sink has been offered more bytes than it may take.
package struct LengthLimitPassed: LocalizedError {
    /// The most bytes that the sink may hold.
    package let maximum: Int64

    package init(maximum: Int64) {
        self.maximum = maximum
    }

    package var errorDescription: String? { "the limit of \(maximum) bytes is passed" }
}

extension FileHandle {
    /// Opens the file at `url`, created when it is missing, for reading and writing, and locks it. It must be a regular file
    /// with this name alone: what is written to it must not change another file.
    static func locked(_ url: URL) throws -> FileHandle {
        for _ in 0..<maximumAttempts {
            let descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o644)
            guard descriptor >= 0 else { throw openFailure(NSError.system(at: url), url) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            var opened = stat()
            guard fstat(descriptor, &opened) == 0 else { throw openFailure(NSError.system(at: url), url) }
            guard opened.st_mode & S_IFMT == S_IFREG else { throw refusal(url, "it is not a regular file") }
            guard opened.st_nlink <= 1 else { throw refusal(url, "it has a second name, a hard link") }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw refusal(url, "it is being written by another transfer", .fileLocking)
            }
            // The former holder of the lock may have moved the file away meanwhile.
            if handle.isFound(at: url) { return handle }
        }
        throw refusal(url, "it was replaced each time it was opened")
    }

    /// Whether this file is the one at `url`: it may have been removed or moved while it was open.
    package func isFound(at url: URL) -> Bool { RegularFile.isFound(fileDescriptor, at: url.path) }

    private static let maximumAttempts = 100

    private static func openFailure(_ error: NSError, _ url: URL) -> FileFailure {
        var named = stat()
        let isLink = lstat(url.path, &named) == 0 && named.st_mode & S_IFMT == S_IFLNK
        return isLink ? refusal(url, "it is a symbolic link, which is not followed") : FileFailure(.open, url, error)
    }

    private static func refusal(
        _ url: URL, _ reason: String, _ code: CocoaError.Code = .fileWriteUnknown
    ) -> FileFailure {
        FileFailure(.open, url, CocoaError(code, userInfo: [NSLocalizedDescriptionKey: reason]))
    }

    /// The bytes at these offsets.
    func bytes(in range: Range<Int64>) throws -> Data {
        var bytes = Data(count: range.count)
        var done = 0
        while done < bytes.count {
            // At an offset, since bytes may be appended meanwhile.
            let count = bytes[done...].withUnsafeMutableBytes {
                pread(fileDescriptor, $0.baseAddress, $0.count, off_t(range.lowerBound) + off_t(done))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            guard count > 0 else { break }
            done += count
        }
        return bytes.prefix(done)
    }

    /// The same open file, with a descriptor of its own.
    func duplicate() throws -> FileHandle {
        let descriptor = dup(fileDescriptor)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EBADF) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Releases the lock, which another descriptor of the same open file would keep, and closes the file.
    func unlockAndClose() {
        flock(fileDescriptor, LOCK_UN)
        try? close()
    }
}

extension NSError {
    /// What the system call that just failed has left in `errno`.
    static func system(at url: URL) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: url.path])
    }
}
