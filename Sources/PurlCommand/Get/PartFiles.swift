import Foundation
import Purl

/// The two files in which an unfinished download lies: `FILE.part` with its bytes, `FILE.resume` with what it takes to
/// go on.
struct PartFiles: Equatable {
    /// What lies there.
    enum Content: Equatable {
        case nothing
        /// Bytes of this very URL, and the way to go on.
        case unfinished(ResumeRecord)
        /// The same of another URL.
        case ofAnotherURL(ResumeRecord)
        /// Bytes that nothing vouches for.
        case unknown
    }

    static let bytesEnding = ".part"
    static let recordEnding = ".resume"
    /// The library keeps the latest record under this ending for a while.
    static let freshRecordEnding = ".resume.new"
    /// What the endings add to a name at most.
    static let longestEnding = freshRecordEnding.utf8.count

    let file: URL
    let bytes: URL
    let record: URL
    let freshRecord: URL

    /// - Parameter file: Where the whole will be.
    init(for file: URL) {
        self.file = file
        bytes = file.appendingPathExtension("part")
        record = file.appendingPathExtension("resume")
        freshRecord = record.appendingPathExtension("new")
    }

    /// Every place that a download may write to.
    var places: [URL] { [file, bytes, record, freshRecord] }

    /// What lies there now, seen by somebody who wants `url`.
    func content(for url: URL) -> Content {
        guard length > 0 else { return .nothing }
        guard let found = vouchingRecord else { return .unknown }
        return found.url.absoluteString == url.absoluteString ? .unfinished(found) : .ofAnotherURL(found)
    }

    /// The record, if it speaks of bytes that are there.
    var vouchingRecord: ResumeRecord? {
        guard let found = ResumeRecord(contentsOf: record), found.bytesReceived > 0, found.bytesReceived <= length
        else { return nil }
        return found
    }

    /// How many bytes are there, vouched for or not.
    var length: Int64 { Self.length(of: bytes) ?? 0 }

    /// The length of the file, when it is all of `url`: its record was kept, and speaks of as many bytes.
    func lengthOfFinishedFile(for url: URL) -> Int64? {
        guard length == 0, let whole = Self.length(of: file), let found = ResumeRecord(contentsOf: record),
            found.url.absoluteString == url.absoluteString, found.bytesReceived == whole, found.totalBytes == whole
        else { return nil }
        return whole
    }

    /// Another transfer, of this process or another, is writing there.
    var isBeingWritten: Bool {
        do throws(FileLock.Failure) {
            _ = try FileLock(bytes)
            return false
        } catch {
            return error == .taken
        }
    }

    // MARK: Ending

    /// Removes bytes and record.
    func remove() throws(CommandFailure) {
        for url in [bytes, freshRecord, record] where FileManager.default.fileExists(atPath: url.path) {
            try Self.check(unlink(url.path), "“\(url.lastPathComponent)” cannot be removed")
        }
    }

    /// A transfer looks into `FILE.part` before it has anything to put there, and so makes it.
    func removeIfEmpty() {
        if length == 0 { unlink(bytes.path) }
    }

    /// The bytes are complete: they become the file, in one step.
    ///
    /// - Parameter keepsRecord: Leaves the record, which then says that the file is complete.
    func finish(replacing: Bool, keepsRecord: Bool) throws(CommandFailure) {
        let isNothingLost = length == 0 && Self.length(of: file) == 0
        guard replacing || isNothingLost || !FileManager.default.fileExists(atPath: file.path) else {
            throw CommandFailure(
                "“\(file.lastPathComponent)” exists by now. The download is complete in “\(bytes.lastPathComponent)”.")
        }
        try Self.check(rename(bytes.path, file.path), "“\(file.lastPathComponent)” cannot be saved")
        if !keepsRecord { removeRecord() }
    }

    /// Removes the record, if it is one.
    func removeRecord() {
        guard ResumeRecord(contentsOf: record) != nil else { return }
        unlink(freshRecord.path)
        unlink(record.path)
    }

    /// The length of a regular file; `nil` when there is none.
    static func length(of url: URL) -> Int64? {
        var status = stat()
        guard lstat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    private static func check(_ result: Int32, _ sentence: String) throws(CommandFailure) {
        guard result != 0 else { return }
        let reason = String(cString: strerror(errno))
        throw CommandFailure("\(sentence): \(reason).")
    }
}
