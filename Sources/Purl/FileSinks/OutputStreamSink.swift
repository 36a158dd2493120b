import Foundation
internal import PurlIO
import Synchronization

/// A sink that appends through an `OutputStream`.
///
/// On a file it resumes, locks the file, and follows no links, like ``FileHandleSink``. On any other stream it starts at zero and cannot
/// start over once bytes have been written. A stream that blocks, because of a full pipe for example, delays only its own
/// transfer.
public final class OutputStreamSink: FileSink, ConcurrentSink {
    private struct State {
        /// `nil` for a stream that is not a file of ours.
        let file: URL?
        var record: RecordFile?
        var stream: OutputStream?
        /// The same file once more: holds the lock, and does what a stream cannot.
        var lockedFile: (any OpenFile)?
        /// What a stream that is not a file has taken.
        var written: Int64 = 0
    }

    private let files: any FileLayer = SystemFiles()
    private let state: Mutex<State>

    /// `nil` for a stream that is not a file.
    var fileURL: URL? { state.withLock { $0.file } }

    var recordedName: String { fileURL?.lastPathComponent ?? "stream" }

    package var completion: SinkCompletion { .safe }

    /// A sink on the file at `url`, which is created when it is missing.
    ///
    /// - Parameter url: The address of the file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. By default beside the file, with ".resume"
    ///   appended to its name.
    public init(fileAt url: URL, recordAt recordURL: URL? = nil) {
        let record = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"))
        state = Mutex(State(file: url, record: record))
    }

    /// A sink on a stream, which it opens if need be and closes at the end.
    ///
    /// - Parameter stream: The stream.
    public init(_ stream: sending OutputStream) {
        state = Mutex(State(file: nil, record: nil, stream: stream))
    }

    public var length: Int64 {
        get throws {
            try state.withLock { state in
                guard let place = state.file else { return state.written }
                // This creates no file: the server may have nothing to put into it.
                guard state.lockedFile != nil || files.entry(place.path) != .missing else { return 0 }
                guard let file = try lockedFile(&state) else { return 0 }
                return try Self.posix { try file.size() }
            }
        }
    }

    public func append(_ data: Data) throws {
        try state.withLock { state in
            let stream = try stream(&state)
            var rest = data[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { bytes in
                    bytes.bindMemory(to: UInt8.self).baseAddress.map { stream.write($0, maxLength: bytes.count) } ?? 0
                }
                guard count > 0 else { throw Self.failure(of: stream) ?? CocoaError(.fileWriteUnknown) }
                state.written += Int64(count)
                rest = rest.dropFirst(count)
            }
        }
    }

    public func truncate(to length: Int64) throws {
        try state.withLock { state in
            guard let file = try lockedFile(&state) else {
                guard state.written == length else {
                    throw CocoaError(
                        .featureUnsupported,
                        userInfo: [NSLocalizedDescriptionKey: "A stream cannot take back what went out."])
                }
                return
            }
            try Self.posix { try file.truncate(to: max(0, length)) }
        }
    }

    /// Nothing on a stream that is not a file: where its bytes went is not known.
    ///
    /// - Parameter range: The offsets.
    public func bytes(in range: Range<Int64>) throws -> Data {
        guard let file = try state.withLock({ try lockedFile(&$0) }) else { return Data() }
        return try Self.posix { try file.read(range.count, at: range.lowerBound) }
    }

    /// Does nothing on a stream that is not a file.
    public func synchronize() throws {
        try makeSynchronization()()
    }

    package func makeSynchronization() throws -> @Sendable () throws -> Void {
        let file = try state.withLock { try lockedFile(&$0) }
        return { try Self.posix { try file?.synchronize() } }
    }

    public func loadRecord() throws -> Data? {
        try state.withLock { $0.record }?.load()
    }

    /// Locks the file first: only its owner may change the record.
    ///
    /// - Parameter record: The record; `nil` removes it.
    public func saveRecord(_ record: Data?) throws {
        let file = try state.withLock { state in
            _ = try lockedFile(&state)
            return state.record
        }
        try file?.save(record)
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
        state.withLock { state in
            state.record?.close()
            state.stream?.close()
            state.stream = nil
            state.lockedFile?.unlock()
            state.lockedFile = nil
        }
    }

    private func lockedFile(_ state: inout State) throws -> (any OpenFile)? {
        if state.lockedFile == nil, let file = state.file { state.lockedFile = try files.openSinkFile(at: file) }
        return state.lockedFile
    }

    private func stream(_ state: inout State) throws -> OutputStream {
        if state.stream == nil, let file = state.file {
            _ = try lockedFile(&state)
            // In append mode every write goes to the end of the file, also after a truncation.
            state.stream = OutputStream(url: file, append: true)
        }
        guard let stream = state.stream else { throw CocoaError(.fileNoSuchFile) }
        if stream.streamStatus == .notOpen { stream.open() }
        if let error = Self.failure(of: stream) { throw error }
        return stream
    }

    /// Why the stream has failed, if it has. On Linux `streamError` traps on a stream that has not.
    private static func failure(of stream: OutputStream) -> (any Error)? {
        stream.streamStatus == .error ? stream.streamError : nil
    }
}
