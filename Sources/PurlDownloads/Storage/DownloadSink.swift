import Foundation
import Purl
internal import PurlIO
import Synchronization

/// The partial file of one attempt: a ``RangedFile`` that reports its length, keeps its lock until the file has been
/// checked and moved, and uses a record only when it agrees with the item.
final class DownloadSink: FileSink, PipedSink, ConcurrentSink, GappedSink {
    private let handle: FileHandleSink
    /// The same file, as several connections write to it.
    let file: RangedFile
    private let unfinished: UnfinishedFiles
    /// The resource of this attempt. The record may name an older URL of it.
    private let resource: FileAcquisition.Resource
    private let report: @Sendable (_ count: () -> Int64) -> Void
    private let isUnexpected = Mutex(false)

    /// - Parameters:
    ///   - connections: How many write to the file.
    ///   - report: Called whenever the length of the file has changed, with a call that returns it: several connections report
    ///     at the same time, and an earlier length must not follow a later one.
    init(
        _ unfinished: UnfinishedFiles, _ resource: FileAcquisition.Resource, connections: ConnectionCount,
        report: @escaping @Sendable (_ count: () -> Int64) -> Void
    ) {
        self.unfinished = unfinished
        handle = Self.file(unfinished)
        handle.limit(to: nil, reservingSpace: true)
        file = RangedFile(handle, checking: connections.checking, leastShare: connections.leastShare)
        self.resource = resource
        self.report = report
    }

    private static func file(_ unfinished: UnfinishedFiles) -> FileHandleSink {
        FileHandleSink(
            fileAt: unfinished.partial, recordAt: unfinished.record, completion: .safe, through: unfinished.files)
    }

    var fileURL: URL? { file.fileURL }

    var recordedName: String { file.recordedName }

    /// Reserves room for the whole before its first byte, where the file system has that at once.
    func reserve(upTo total: Int64) throws { try file.reserve(upTo: total) }

    /// The bytes that a transfer continues from: of a file that several connections have filled, those before the first one
    /// that is missing.
    var length: Int64 {
        get throws { try file.length }
    }

    /// How many bytes are there, wherever they are.
    var presentCount: Int64 { file.presentCount }

    func append(_ data: Data) throws {
        try file.append(data)
        reportCount()
    }

    func append(_ count: Int, from pipe: ContentPipe) throws {
        try file.append(count, from: pipe)
        reportCount()
    }

    func truncate(to length: Int64) throws {
        try file.truncate(to: length)
        reportCount()
    }

    /// Reports how many bytes there are.
    func reportCount() { report { presentCount } }

    func nextGap() throws -> SinkGap { try file.nextGap() }

    func bytes(in range: Range<Int64>) throws -> Data { try file.bytes(in: range) }

    func synchronize() throws { try file.synchronize() }

    var completion: SinkCompletion { .safe }

    func makeSynchronization() throws -> @Sendable () throws -> Void { try file.makeSynchronization() }

    func synchronizeRecord() throws { try file.synchronizeRecord() }

    /// Called with the lock held, when the file exists.
    func loadRecord() throws -> Data? {
        // One that cannot be read for the moment, for lack of descriptors perhaps, fails the attempt, and the bytes stay.
        guard let data = try handle.loadRecord(),
            let record = ResumeRecord(data, of: unfinished.partial, through: unfinished.files)
        else { return nil }
        if let total = record.totalBytes {
            // One of the two totals is damaged, or the file is longer than the resource: the bytes are not used.
            let fits = resource.totalBytes == nil || resource.totalBytes == total
            guard fits, try file.length <= total else {
                try file.saveRecord(nil)
                try truncate(to: 0)
                return nil
            }
            if record.bytesReceived == total, isOtherFile {
                isUnexpected.withLock { $0 = true }
                return nil
            }
        }
        // Bytes of several servers are of use only where the digest is expected that joins them.
        if let joint = JoinedBytes.sha256(in: record.url), JoinedBytes.sha256(in: resource.url) != joint {
            try file.saveRecord(nil)
            try truncate(to: 0)
            return nil
        }
        // The server still compares the validator, and sends the whole file when it differs.
        if record.url != resource.url { try handle.adopt(resource.url) }
        return try file.loadRecord()
    }

    /// The version on disk has none of the digests that callers expect, according to the server.
    private var isOtherFile: Bool {
        guard let digest = resource.serverSHA256, !resource.sha256.isEmpty else { return false }
        return !resource.sha256.contains(digest)
    }

    func saveRecord(_ record: Data?) throws { try file.saveRecord(record) }

    /// Does nothing: the attempt continues after the transfer, and calls ``release()``.
    func close() {}

    func closeWithoutWaiting() {}

    // MARK: For the attempt

    /// The file is complete, but one that the server sent and no caller expects. The transfer requests the whole file, for the
    /// server may have another version by now; only that replaces the bytes.
    var hasUnexpectedFile: Bool { isUnexpected.withLock { $0 } }

    /// Whether the partial file's name still is that of the file which the transfer has written.
    var isInPlace: Bool { handle.isInPlace }

    /// Removes the file and its record.
    func discard() throws {
        try file.saveRecord(nil)
        unfinished.files.remove(unfinished.partial.path)
    }

    /// Removes the record of bytes that have been moved away.
    func removeRecord() { Self.removeRecord(of: unfinished, under: file) }

    /// Releases the lock, for good: a piece may still be about to be read, or what is there to be synchronised.
    func release() { handle.closeForGood() }

    /// Removes the unfinished files of a download, unless another transfer is using them.
    ///
    /// - Returns: False where one is, in another process perhaps, or the file cannot be locked for another reason.
    @discardableResult
    static func remove(_ unfinished: UnfinishedFiles) -> Bool {
        let (files, location) = (unfinished.files, unfinished.partial.path)
        let sink = file(unfinished)
        // Reading the length takes the lock of an existing file.
        guard case .regular = files.entry(location), (try? sink.length) != nil else {
            guard files.entry(location) == .missing else { return false }
            removeRecord(of: unfinished, under: nil)
            return true
        }
        removeRecord(of: unfinished, under: sink)
        files.remove(location)
        try? sink.close()
        return true
    }

    /// Removes the record of bytes that are gone or about to be. Where the disk fails its names go all the same: it may come back
    /// after a loss of power, but does not stay.
    ///
    /// - Parameter sink: Holds the lock of the bytes; `nil` where there are none.
    private static func removeRecord(of unfinished: UnfinishedFiles, under sink: (any FileSink)?) {
        if let sink, (try? sink.saveRecord(nil)) != nil { return }
        let (files, record) = (unfinished.files, unfinished.record.path)
        files.remove(files.successor(of: record))
        files.remove(record)
    }
}
