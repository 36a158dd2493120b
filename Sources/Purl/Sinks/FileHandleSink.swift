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
/// with `URLError.cannotOpenFile`.
public final class FileHandleSink: PipedSink {
    /// The file written to; `nil` for a sink made from a handle.
    public var fileURL: URL? { state.withLock { $0.url } }

    private struct State {
        var url: URL?
        var record: RecordFile?
        var handle: FileHandle?
        let ownsHandle: Bool

        var exists: Bool { url.map { FileManager.default.fileExists(atPath: $0.path) } ?? false }
    }

    private let state: Mutex<State>

    /// A sink on the file at `url`, which is created when it is missing.
    ///
    /// - Parameter url: The address of the file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. By default beside the file, with ".resume"
    ///   appended to its name.
    public init(fileAt url: URL, recordAt recordURL: URL? = nil) {
        let record = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"))
        state = Mutex(State(url: url, record: record, handle: nil, ownsHandle: true))
    }

    /// A sink on an open file, readable and writable. It is not closed by the sink.
    ///
    /// - Parameter handle: The open file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. Without it bytes that are there cannot be
    ///   trusted, and a transfer starts over.
    public init(_ handle: FileHandle, recordAt recordURL: URL?) {
        state = Mutex(State(record: recordURL.map(RecordFile.init), handle: handle, ownsHandle: false))
    }

    /// Moves the file to `url`, and its record with it; replaces what is there. A task that is writing continues
    /// in the moved file.
    ///
    /// - Parameters:
    ///   - url: Where the file is to be.
    ///   - recordURL: Where to keep what is known of the bytes; `nil` puts it beside the file.
    public func move(to url: URL, recordAt recordURL: URL? = nil) throws {
        var newRecord = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"))
        try state.withLock { state in
            guard let old = state.url else { throw CocoaError(.fileNoSuchFile) }
            if FileManager.default.fileExists(atPath: old.path) {
                guard rename(old.path, url.path) == 0 else { throw NSError.system(at: url) }
            }
            let record = try state.record?.load()
            try newRecord.save(record)
            if var oldRecord = state.record, oldRecord.url.path != newRecord.url.path { try oldRecord.save(nil) }
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
            try state.record?.commit()
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
        try withHandle { handle in
            try handle.seekToEnd()
            try handle.write(contentsOf: data)
        }
    }

    func append(_ count: Int, from pipe: ContentPipe) throws {
        try withHandle { handle in
            let offset = try handle.seekToEnd()
            try pipe.empty(count, into: handle.fileDescriptor, at: Int64(offset))
        }
    }

    public func truncate(to length: Int64) throws {
        try withHandle { try $0.truncate(atOffset: UInt64(max(0, length))) }
    }

    public func bytes(in range: Range<Int64>) throws -> Data {
        try withHandle { try $0.bytes(in: range) }
    }

    public func synchronize() throws {
        try withHandle { try $0.synchronize() }
    }

    public func loadRecord() throws -> Data? {
        try state.withLock { try $0.record?.load() }
    }

    /// Locks the file first: only its owner may change the record.
    ///
    /// - Parameter record: The record; `nil` removes it.
    public func saveRecord(_ record: Data?) throws {
        try withHandle { _ in }
        try state.withLock { try $0.record?.save(record) }
    }

    public func close() throws {
        try state.withLock { state in
            defer {
                if state.ownsHandle {
                    try? state.handle?.close()
                    state.handle = nil
                }
            }
            // Still under the lock.
            try state.record?.commit()
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

extension FileHandle {
    /// Opens the file at `url`, created when it is missing, for reading and writing, and locks it.
    static func locked(_ url: URL) throws -> FileHandle {
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileFailure(.open, url, NSError.system(at: url)) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = "it is being written by another transfer"
            throw FileFailure(
                .open, url, CocoaError(.fileLocking, userInfo: [NSLocalizedDescriptionKey: reason]))
        }
        return handle
    }

    /// The bytes at these offsets.
    func bytes(in range: Range<Int64>) throws -> Data {
        try seek(toOffset: UInt64(max(0, range.lowerBound)))
        return try read(upToCount: range.count) ?? Data()
    }
}

extension NSError {
    /// What the system call that just failed has left in `errno`.
    static func system(at url: URL) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: url.path])
    }
}
