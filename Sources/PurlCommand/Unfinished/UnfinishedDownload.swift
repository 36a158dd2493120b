import Foundation
import Purl

/// What an unfinished download has left in a folder.
struct UnfinishedDownload: Equatable {
    /// What there is, and whether it is purl's.
    enum Remains: Equatable {
        /// Bytes, and the record that vouches for them.
        case bytes(ResumeRecord)
        /// Bytes, and a record that does not fit them: the same command starts over.
        case misfit
        /// Bytes in a `.part` that has no record. Other programs make such files too.
        case unknown
        /// A record without bytes.
        case recordAlone
    }

    /// The file as it is called in sentences, with its folder's name before it when there are several.
    let name: String
    let parts: PartFiles
    let remains: Remains
    /// How many bytes there are on disk.
    let length: Int64
    /// Another process is writing it.
    let isBeingWritten: Bool

    /// What lies in a folder, by name.
    ///
    /// - Parameter prefix: What to put before names.
    static func all(in folder: String, prefix: String = "") throws(CommandFailure) -> [UnfinishedDownload] {
        let url = URL(fileURLWithPath: folder, isDirectory: true)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandFailure("There is no folder “\(folder)”.")
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: url.path) else {
            throw CommandFailure("The folder “\(folder)” cannot be read.")
        }
        let endings = [PartFiles.freshRecordEnding, PartFiles.recordEnding, PartFiles.bytesEnding]
        let stems = names.compactMap { name in
            endings.first(where: name.hasSuffix).map { String(name.dropLast($0.count)) }
        }
        return Set(stems).sorted().compactMap { stem in
            stem.isEmpty ? nil : UnfinishedDownload(url.appendingPathComponent(stem), name: prefix + stem)
        }
    }

    /// What there is of `file`; `nil` when that is nothing of interest.
    private init?(_ file: URL, name: String) {
        self.name = name
        parts = PartFiles(for: file)
        isBeingWritten = parts.isBeingWritten
        let hasRecord = Self.isRecord(parts.record) || Self.isRecord(parts.freshRecord)
        guard let length = PartFiles.length(of: parts.bytes) else {
            guard hasRecord else { return nil }
            self.length = 0
            remains = .recordAlone
            return
        }
        self.length = length
        if let record = parts.vouchingRecord {
            remains = .bytes(record)
        } else {
            remains = hasRecord ? .misfit : .unknown
        }
    }

    /// Removes it, and says how many bytes it had. What somebody is writing by now is left.
    ///
    /// Only regular files go: `FILE.part`, and with it `FILE.resume` and `FILE.resume.new` where they are records.
    func remove() throws(CommandFailure) -> Int64 {
        let bytes = PartFiles.length(of: parts.bytes)
        let lock: FileLock?
        do throws(FileLock.Failure) {
            lock = bytes == nil ? nil : try FileLock(parts.bytes)
        } catch {
            switch error {
            case .taken: throw Self.beingWritten(name)
            // Then nobody knows whether it is being written.
            case .cannotOpen: throw CommandFailure("“\(name).part” cannot be opened. It was left alone.")
            }
        }
        return try withExtendedLifetime(lock) { () throws(CommandFailure) -> Int64 in
            // The record goes first: at no moment it vouches for bytes of somebody who comes now.
            for record in [parts.freshRecord, parts.record] where Self.isRecord(record) { try Self.unlink(record) }
            if bytes != nil { try Self.unlink(parts.bytes) }
            return bytes ?? 0
        }
    }

    static func beingWritten(_ name: String) -> CommandFailure {
        CommandFailure("“\(name).part” is being written by another transfer. It was left alone.")
    }

    private static func isRecord(_ url: URL) -> Bool {
        PartFiles.length(of: url) != nil && ResumeRecord(contentsOf: url) != nil
    }

    private static func unlink(_ url: URL) throws(CommandFailure) {
        guard Foundation.unlink(url.path) != 0 else { return }
        let reason = String(cString: strerror(errno))
        throw CommandFailure("“\(url.lastPathComponent)” cannot be removed: \(reason).")
    }
}
