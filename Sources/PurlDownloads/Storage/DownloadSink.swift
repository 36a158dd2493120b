import Foundation
import Purl
import Synchronization

/// The partial file of one attempt: a `FileHandleSink` that reports its length, keeps its lock until the file has been
/// checked and moved, and uses a record only when it agrees with the item.
final class DownloadSink: BodySink {
    private let file: FileHandleSink
    private let location: URL
    private let recordLocation: URL
    /// The URL of this attempt. The record may name an older one of the same resource.
    private let url: URL
    /// The length of the whole according to the item.
    private let knownTotal: Int64?
    private let report: @Sendable (Int64) -> Void
    private let count = Mutex<Int64>(0)

    /// - Parameter report: Called with the length of the file whenever that has changed.
    init(
        _ paths: DownloadPaths, of resource: URL, at url: URL, knownTotal: Int64?,
        report: @escaping @Sendable (Int64) -> Void
    ) {
        location = paths.partial(resource)
        recordLocation = paths.record(resource)
        file = FileHandleSink(fileAt: location, recordAt: recordLocation)
        self.url = url
        self.knownTotal = knownTotal
        self.report = report
    }

    var length: Int64 {
        get throws {
            let length = try file.length
            count.withLock { $0 = length }
            return length
        }
    }

    func append(_ data: Data) throws {
        try file.append(data)
        report(
            count.withLock { count in
                count += Int64(data.count)
                return count
            })
    }

    func truncate(to length: Int64) throws {
        try file.truncate(to: length)
        count.withLock { $0 = length }
        report(length)
    }

    func bytes(in range: Range<Int64>) throws -> Data { try file.bytes(in: range) }

    func synchronize() throws { try file.synchronize() }

    /// Called with the lock held, when the file exists.
    func loadRecord() throws -> Data? {
        guard let record = ResumeRecord(contentsOf: recordLocation) else { return nil }
        if let total = record.totalBytes {
            // One of the two totals is damaged, or the file is longer than the resource: the bytes are not used.
            let fits = knownTotal == nil || knownTotal == total
            guard fits, try file.length <= total else {
                try file.saveRecord(nil)
                try truncate(to: 0)
                return nil
            }
        }
        // The server still compares the validator, and sends the whole file when it differs.
        if record.url != url { try file.adopt(url) }
        return try file.loadRecord()
    }

    func saveRecord(_ record: Data?) throws { try file.saveRecord(record) }

    /// Does nothing: the attempt continues after the transfer, and calls ``release()``.
    func close() {}

    // MARK: For the attempt

    /// Removes the file and its record.
    func discard() throws {
        try file.saveRecord(nil)
        unlink(location.path)
        report(0)
    }

    /// Releases the lock.
    func release() { try? file.close() }

    /// Removes the unfinished files of a download, unless another transfer is using them.
    static func remove(_ paths: DownloadPaths, of resource: URL) {
        let (location, record) = (paths.partial(resource), paths.record(resource))
        let sink = FileHandleSink(fileAt: location, recordAt: record)
        // Reading the length takes the lock of an existing file.
        guard case .file = FileKind(at: location), (try? sink.length) != nil else {
            if FileKind(at: location) != .nothing { return }
            unlink(record.appendingPathExtension("new").path)
            unlink(record.path)
            return
        }
        try? sink.saveRecord(nil)
        unlink(location.path)
        try? sink.close()
    }
}
