import Foundation
import Purl
internal import PurlIO

/// The files that an unfinished download has left in a folder.
struct UnfinishedDownload: Equatable {
    /// Which files there are, and whether they are purl's.
    enum Remains: Equatable {
        /// Bytes that can be resumed.
        case bytes(ResumeRecord)
        /// Bytes whose record counts none, or does not match them: the same command starts over.
        case useless(ResumeRecord)
        /// A `.part` file without a record. Other programs create such files too.
        case unknown
        /// A record without bytes.
        case recordAlone
    }

    /// The file's name in messages, after the folder's name unless that is the current one.
    let name: String
    let parts: PartFiles
    let remains: Remains
    /// The bytes on disk.
    let length: Int64
    /// Whether another transfer is writing it.
    let isBeingWritten: Bool
    /// Which parts there are, where several connections have brought them; `nil` where the bytes follow one another.
    let ranges: [Range<Int64>]?

    /// The unfinished downloads in a folder, by name.
    ///
    /// - Parameter prefix: The text before each name.
    static func all(in folder: String, prefix: String = "") throws(CommandFailure) -> [UnfinishedDownload] {
        let url = URL(fileURLWithPath: folder, isDirectory: true)
        switch FileEntry(at: URL(fileURLWithPath: folder), followingLinks: true) {
        case .folder: break
        case .missing: throw CommandFailure("There is no folder “\(folder)”.")
        case .regular: throw CommandFailure("“\(folder)” is a file; give the folder that it is in.")
        case .link, .device, .pipe, .socket: throw CommandFailure("“\(folder)” is not a folder.")
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: url.path) else {
            throw CommandFailure("The folder “\(folder)” cannot be read.")
        }
        let suffixes = [
            PartFiles.newRecordSuffix, PartFiles.oldRecordSuffix, PartFiles.recordSuffix, PartFiles.bytesSuffix,
        ]
        let stems = names.compactMap { name in
            suffixes.first(where: name.hasSuffix).map { String(name.dropLast($0.count)) }
        }
        return Set(stems).sorted().compactMap { stem in
            stem.isEmpty ? nil : UnfinishedDownload(url.appendingPathComponent(stem), name: prefix + stem)
        }
    }

    /// The unfinished download of `file`; `nil` when there is none.
    private init?(_ file: URL, name: String) {
        self.name = name
        parts = PartFiles(for: file)
        isBeingWritten = parts.isBeingWritten
        var record = ResumeRecord(contentsOf: parts.record, of: parts.bytes)
        if let found = record, !found.describes(fileAt: parts.bytes), found.describesComplete(fileAt: file) {
            record = nil
        }
        ranges = record?.ranges(inFileAt: parts.bytes)
        guard let length = parts.length(of: parts.bytes) else {
            guard record != nil || Self.isRemovable(parts.oldRecord, parts) else { return nil }
            self.length = 0
            remains = .recordAlone
            return
        }
        self.length = length
        guard let record else {
            remains = .unknown
            return
        }
        remains = record.describes(fileAt: parts.bytes) ? .bytes(record) : .useless(record)
    }

    /// Removes the files and returns how many bytes they had. Throws when another transfer is writing them.
    ///
    /// Only regular files are removed: `FILE.part`, and `FILE.resume`, `FILE.resume.new` and `FILE.resume.old` if they are records,
    /// but not that of the complete FILE.
    func remove() throws(CommandFailure) -> Int64 {
        let bytes = parts.length(of: parts.bytes)
        let lock: FileLock?
        do throws(FileLock.Failure) {
            lock = bytes == nil ? nil : try FileLock(parts.bytes)
        } catch {
            switch error {
            case .taken: throw Self.beingWritten(name)
            // Then it is unknown whether it is being written.
            case .cannotOpen: throw CommandFailure("“\(name).part” cannot be opened and was kept.")
            }
        }
        return try withExtendedLifetime(lock) { () throws(CommandFailure) -> Int64 in
            // The record is removed first, so that it never describes the bytes of a transfer that starts now.
            for record in [parts.newRecord, parts.oldRecord, parts.record] where Self.isRemovable(record, parts) {
                try parts.remove(record)
            }
            if bytes != nil { try parts.remove(parts.bytes) }
            parts.restoreRecordOfFile()
            return bytes ?? 0
        }
    }

    static func beingWritten(_ name: String) -> CommandFailure {
        CommandFailure("“\(name).part” is being written by another transfer and was kept.")
    }

    /// Whether there is a record, and it is not the one by which the complete file is known.
    private static func isRemovable(_ url: URL, _ parts: PartFiles) -> Bool {
        guard parts.length(of: url) != nil, let record = ResumeRecord(contentsOf: url, of: parts.bytes) else {
            return false
        }
        return record.describes(fileAt: parts.bytes) || !record.describesComplete(fileAt: parts.file)
    }
}
