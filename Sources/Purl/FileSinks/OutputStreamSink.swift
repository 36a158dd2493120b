import Foundation
import Synchronization

/// A sink that appends through an `OutputStream`.
///
/// On a file it resumes, locks the file, and follows no links, like ``FileHandleSink``. On any other stream it starts at zero and cannot
/// start over once bytes have been written. A stream that blocks, because of a full pipe for example, delays only its own
/// transfer.
public final class OutputStreamSink: FileSink, ConcurrentSink, ExclusiveSink {
    private struct Output {
        var stream: OutputStream?
        /// What the stream has taken.
        var written: Int64 = 0
    }

    /// `nil` for a stream that is not a file.
    private let file: FileHandleSink?
    private let output: Mutex<Output>

    /// `nil` for a stream that is not a file.
    package var fileURL: URL? { file?.fileURL }

    package var recordedName: String { fileURL?.lastPathComponent ?? "stream" }

    package var completion: SinkCompletion { .safe }

    package let turn = SinkTurn()

    /// A sink on the file at `url`, which is created when it is missing.
    ///
    /// - Parameter url: The address of the file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. By default beside the file, with ".resume"
    ///   appended to its name.
    public init(fileAt url: URL, recordAt recordURL: URL? = nil) {
        file = FileHandleSink(fileAt: url, recordAt: recordURL)
        output = Mutex(Output())
    }

    /// A sink on a stream, which it opens if need be and closes at the end.
    public init(_ stream: sending OutputStream) {
        file = nil
        output = Mutex(Output(stream: stream))
    }

    public var length: Int64 {
        get throws { try file?.length ?? output.withLock { $0.written } }
    }

    public func append(_ data: Data) throws {
        if let file { return try file.append(data) }
        try output.withLock { output in
            let stream = try Self.opened(output)
            var rest = data[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { bytes in
                    bytes.bindMemory(to: UInt8.self).baseAddress.map { stream.write($0, maxLength: bytes.count) } ?? 0
                }
                guard count > 0 else { throw Self.failure(of: stream) ?? CocoaError(.fileWriteUnknown) }
                output.written += Int64(count)
                rest = rest.dropFirst(count)
            }
        }
    }

    public func truncate(to length: Int64) throws {
        if let file { return try file.truncate(to: length) }
        guard try self.length == length else {
            throw CocoaError(
                .featureUnsupported, userInfo: [NSLocalizedDescriptionKey: "A stream cannot take back what went out."])
        }
    }

    /// Nothing on a stream that is not a file: where its bytes went is not known.
    ///
    /// - Parameter range: The offsets.
    public func bytes(in range: Range<Int64>) throws -> Data { try file?.bytes(in: range) ?? Data() }

    /// Does nothing on a stream that is not a file.
    public func synchronize() throws { try file?.synchronize() }

    package func makeSynchronization() throws -> @Sendable () throws -> Void {
        guard let file else { return {} }
        return try file.makeSynchronization()
    }

    public func loadRecord() throws -> Data? { try file?.loadRecord() }

    /// Locks the file first: only its owner may change the record.
    ///
    /// - Parameter record: The record; `nil` removes it.
    public func saveRecord(_ record: Data?) throws { try file?.saveRecord(record) }

    package func synchronizeRecord() throws { try file?.synchronizeRecord() }

    public func close() throws {
        closeStream()
        try file?.close()
    }

    package func closeWithoutWaiting() throws {
        closeStream()
        try file?.closeWithoutWaiting()
    }

    private func closeStream() {
        output.withLock { output in
            output.stream?.close()
            output.stream = nil
        }
    }

    private static func opened(_ output: Output) throws -> OutputStream {
        guard let stream = output.stream else { throw CocoaError(.fileNoSuchFile) }
        if stream.streamStatus == .notOpen { stream.open() }
        if let error = failure(of: stream) { throw error }
        return stream
    }

    /// Why the stream has failed, if it has. On Linux `streamError` traps on a stream that has not.
    private static func failure(of stream: OutputStream) -> (any Error)? {
        stream.streamStatus == .error ? stream.streamError : nil
    }
}
