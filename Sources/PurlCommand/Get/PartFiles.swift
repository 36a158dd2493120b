import Foundation
import Purl

/// The two files of an unfinished download: `FILE.part` with its bytes, and `FILE.resume` with the record needed to resume.
struct PartFiles: Equatable {
    /// What the files hold.
    enum Content: Equatable {
        case nothing
        /// Bytes of this URL, with a valid record.
        case unfinished(ResumeRecord)
        /// Bytes of another URL, with a valid record.
        case ofAnotherURL(ResumeRecord)
        /// Bytes without a valid record.
        case unknown
    }

    static let bytesSuffix = ".part"
    static let recordSuffix = ".resume"
    /// The suffix under which the library writes a new record before it replaces the old one.
    static let newRecordSuffix = ".resume.new"
    /// The longest suffix, in bytes.
    static let longestSuffix = newRecordSuffix.utf8.count

    let file: URL
    let bytes: URL
    let record: URL
    let newRecord: URL

    /// - Parameter file: The path of the complete file.
    init(for file: URL) {
        self.file = file
        bytes = file.appendingPathExtension("part")
        record = file.appendingPathExtension("resume")
        newRecord = record.appendingPathExtension("new")
    }

    /// Every path that a download may write to.
    var paths: [URL] { [file, bytes, record, newRecord] }

    /// What the files hold, for a download of `url`.
    func content(for url: URL) -> Content {
        guard length > 0 else { return .nothing }
        guard let found = validRecord else { return .unknown }
        return found.url.absoluteString == url.absoluteString ? .unfinished(found) : .ofAnotherURL(found)
    }

    /// The record, if all bytes that it counts are there.
    var validRecord: ResumeRecord? {
        guard let found = ResumeRecord(contentsOf: record), found.bytesReceived > 0, found.bytesReceived <= length
        else { return nil }
        return found
    }

    /// How many bytes there are, with or without a valid record.
    var length: Int64 { Self.length(of: bytes) ?? 0 }

    /// The length of the complete file of `url`; `nil` unless its record was kept and counts exactly these bytes.
    func lengthOfFinishedFile(for url: URL) -> Int64? {
        guard length == 0, let whole = Self.length(of: file), let found = ResumeRecord(contentsOf: record),
            found.url.absoluteString == url.absoluteString, found.bytesReceived == whole, found.totalBytes == whole
        else { return nil }
        return whole
    }

    /// Whether another transfer, in this process or another, has locked the bytes.
    var isBeingWritten: Bool {
        do throws(FileLock.Failure) {
            _ = try FileLock(bytes)
            return false
        } catch {
            return error == .taken
        }
    }

    // MARK: Changes

    /// Removes the bytes and the record.
    func remove() throws(CommandFailure) {
        for url in [bytes, newRecord, record] where FileManager.default.fileExists(atPath: url.path) {
            try Self.check(unlink(url.path), "“\(url.lastPathComponent)” cannot be removed")
        }
    }

    /// Removes `FILE.part` if it is empty: a transfer creates it before the first byte arrives.
    func removeIfEmpty() {
        if length == 0 { unlink(bytes.path) }
    }

    /// Renames the complete bytes to the file.
    ///
    /// - Parameter keepsRecord: Keeps the record, by which the file is recognised as complete.
    func finish(replacing: Bool, keepsRecord: Bool) throws(CommandFailure) {
        let isNothingLost = length == 0 && Self.length(of: file) == 0
        guard replacing || isNothingLost || !FileManager.default.fileExists(atPath: file.path) else {
            throw CommandFailure(
                "“\(file.lastPathComponent)” was created meanwhile. The complete download is in “\(bytes.lastPathComponent)”."
            )
        }
        try Self.check(rename(bytes.path, file.path), "“\(file.lastPathComponent)” cannot be saved")
        if !keepsRecord { removeRecord() }
    }

    /// Removes the record, unless the file is not a record of purl's.
    func removeRecord() {
        guard ResumeRecord(contentsOf: record) != nil else { return }
        unlink(newRecord.path)
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

/// An exclusive lock on a file, against transfers in this process and others, held until it is deallocated.
final class FileLock: Sendable {
    /// Why there is no lock.
    enum Failure: Error {
        case cannotOpen
        /// Another holder has it, or had it and has moved the file away.
        case taken
    }

    private let descriptor: Int32

    /// Takes the lock that the library's sinks use, or fails at once.
    init(_ url: URL) throws(Failure) {
        descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw .cannotOpen }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isSameFile(url, descriptor) else {
            close(descriptor)
            throw .taken
        }
    }

    deinit {
        close(descriptor)
    }

    /// Whether the path still names the open file: the former holder of the lock may have moved it.
    private static func isSameFile(_ url: URL, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(url.path, &named) == 0 && open.st_ino == named.st_ino
            && open.st_dev == named.st_dev
    }
}
