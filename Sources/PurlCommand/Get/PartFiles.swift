import Foundation
import Purl
internal import PurlIO

/// The two files of an unfinished download: `FILE.part` with its bytes, and `FILE.resume` with the record needed to resume.
///
/// While a newer version of FILE arrives, the record of FILE itself is in `FILE.resume.old`.
struct PartFiles: Sendable, Equatable {
    /// What the files hold.
    enum Content: Equatable {
        case nothing
        /// Bytes of this URL that can be resumed.
        case unfinished(ResumeRecord)
        /// Bytes of this URL that cannot be resumed: the record counts none, or others.
        case useless(ResumeRecord)
        /// Bytes of another URL.
        case ofAnotherURL(ResumeRecord)
    }

    static let bytesSuffix = ".part"
    static let recordSuffix = ".resume"
    /// The suffix under which the library writes a new record before it replaces the old one.
    static let newRecordSuffix = ".resume.new"
    /// The suffix of the complete file's record while a newer version arrives.
    static let oldRecordSuffix = ".resume.old"
    /// The suffixes with which no name may end that a server or a URL chooses.
    static let suffixes = [bytesSuffix, recordSuffix, newRecordSuffix, oldRecordSuffix]
    /// The longest suffix, in bytes.
    static let longestSuffix = newRecordSuffix.utf8.count

    let file: URL
    let bytes: URL
    let record: URL
    let newRecord: URL
    let oldRecord: URL
    /// What they are read and changed through.
    let layer: any FileLayer

    /// - Parameters:
    ///   - file: The path of the complete file.
    ///   - layer: What they are read and changed through.
    init(for file: URL, through layer: any FileLayer = SystemFiles()) {
        self.file = file
        self.layer = layer
        bytes = file.appendingPathExtension("part")
        record = file.appendingPathExtension("resume")
        newRecord = record.appendingPathExtension("new")
        oldRecord = record.appendingPathExtension("old")
    }

    static func == (left: PartFiles, right: PartFiles) -> Bool { left.file == right.file }

    /// Every path that a download may write to.
    var paths: [URL] { [file, bytes, record, newRecord, oldRecord] }

    /// What the files hold, for a download of one of `urls`.
    func content(for urls: [URL]) -> Content {
        guard length > 0, let found = ResumeRecord(contentsOf: record, of: bytes, through: layer) else {
            return .nothing
        }
        guard found.isOf(urls) else { return .ofAnotherURL(found) }
        return found.describes(fileAt: bytes) ? .unfinished(found) : .useless(found)
    }

    /// The record, if all bytes that it counts are there.
    var validRecord: ResumeRecord? {
        guard let found = ResumeRecord(contentsOf: record, of: bytes, through: layer), found.describes(fileAt: bytes)
        else {
            return nil
        }
        return found
    }

    /// Throws when the paths hold what is not purl's to change: anything but regular files of this user's with one name; bytes
    /// that no record describes, which another program has made or changed; and a record's name on another file.
    ///
    /// A transfer writes a record before its first byte, so there are never bytes of purl's without one. Empty files are
    /// harmless: nothing is lost with them.
    func validate() throws(CommandFailure) {
        let found = ResumeRecord(contentsOf: record, of: bytes, through: layer)
        let recordPlace = Place(layer.entry(record.path))
        switch recordPlace {
        case .absent, .own(0): break
        case .own where found != nil: break
        case .own: throw Self.refusal(record, "is not a record of purl's")
        case .strange(let what): throw Self.refusal(record, what)
        }
        // What a power loss leaves of a new record may be empty.
        if case .own(1...) = Place(layer.entry(newRecord.path)),
            ResumeRecord(contentsOf: newRecord, through: layer) == nil
        {
            throw Self.refusal(newRecord, "is not a record of purl's")
        }
        switch Place(layer.entry(bytes.path)) {
        case .absent, .own(0): break
        case .strange(let what): throw Self.refusal(bytes, what)
        case .own:
            // A power loss may leave an empty record.
            if recordPlace == .own(0) { return }
            guard let found, !found.describesComplete(fileAt: file) else {
                throw Self.refusal(bytes, "has no record of purl's, so another program has made it")
            }
            guard found.bytesReceived == 0 || found.describes(fileAt: bytes) else {
                throw Self.refusal(bytes, "does not match its record, so another program has changed it")
            }
        }
    }

    private enum Place: Equatable {
        case absent
        /// A regular file of this user's with one name, and its length.
        case own(Int64)
        case strange(String)

        init(_ entry: FileEntry) {
            self =
                switch entry {
                case .missing: .absent
                case .regular(let file) where file.hasOtherNames: .strange("has a second name, a hard link")
                case .regular(let file) where !file.isOwn: .strange("belongs to another user")
                case .regular(let file): .own(file.length)
                case .link: .strange("is a symbolic link")
                case .folder, .device, .pipe, .socket: .strange("is not a regular file")
                }
        }
    }

    static func refusal(_ url: URL, _ what: String) -> CommandFailure {
        CommandFailure(
            "“\(url.lastPathComponent)” \(what). It was left as it is: remove or rename it, or choose another name with -o."
        )
    }

    /// The failure where the file that bytes were written to has lost its name.
    var displacement: CommandFailure {
        let name = bytes.lastPathComponent
        guard layer.entry(bytes.path) != .missing else {
            return CommandFailure("“\(name)” was removed or renamed while it was written.")
        }
        return CommandFailure(
            "“\(name)” was moved or replaced while it was written. What has the name now was left as it is.")
    }

    /// Why no transfer resumes the bytes, as a clause; `nil` where they are a regular file of this user's with one name.
    var obstacle: String? {
        if case .strange(let what) = Place(layer.entry(bytes.path)) { what } else { nil }
    }

    /// How many bytes there are, with or without a valid record.
    var length: Int64 { length(of: bytes) ?? 0 }

    /// The length of the complete file of one of `urls`; `nil` unless its record was kept and describes exactly these bytes.
    func lengthOfFinishedFile(for urls: [URL]) -> Int64? {
        length == 0 ? recordOfFinishedFile(for: urls)?.bytesReceived : nil
    }

    /// Whether another transfer, in this process or another, has locked the bytes.
    var isBeingWritten: Bool { isLocked(bytes) }

    /// Whether another transfer has just given the file its name. It still holds the lock, and is about to remove the record.
    var isBeingFinished: Bool { isLocked(file) }

    private func isLocked(_ url: URL) -> Bool {
        do throws(FileLock.Failure) {
            _ = try FileLock(url, through: layer)
            return false
        } catch {
            return error == .taken
        }
    }

    /// The process that has locked the bytes, if the system tells. The list of all locks, `/proc/locks`, does not: it is read in
    /// portions, and where locks come and go in between it lacks some that are held all the time.
    var writer: Int? {
        guard let file = layer.entry(bytes.path).regularFile else { return nil }
        return Self.names(in: "/proc").compactMap { Int($0) }.first { process in
            Self.names(in: "/proc/\(process)/fd").contains { descriptor in
                FileEntry(atPath: "/proc/\(process)/fd/\(descriptor)", followingLinks: true).regularFile?.identity
                    == file.identity && Self.isLocked(descriptor, of: process)
            }
        }
    }

    /// Empty where the folder is another user's.
    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Whether a process has a lock by one of its descriptors.
    private static func isLocked(_ descriptor: String, of process: Int) -> Bool {
        let text = try? String(contentsOfFile: "/proc/\(process)/fdinfo/\(descriptor)", encoding: .utf8)
        return text?.contains("FLOCK") == true
    }

    // MARK: Changes

    /// Sets the record of the complete file aside, before that of a newer version takes its place: as long as it describes the
    /// file, the newer version may replace it, also after an interruption.
    func setRecordOfFileAside() throws(CommandFailure) {
        // Beside bytes the record is theirs: that of the file was set aside when they began.
        guard length == 0,
            let found = [newRecord, record].first(where: {
                ResumeRecord(contentsOf: $0, of: file, through: layer)?.describesComplete(fileAt: file) == true
            })
        else { return }
        switch Place(layer.entry(oldRecord.path)) {
        case .absent, .own(0): break
        case .own where ResumeRecord(contentsOf: oldRecord, through: layer) != nil: break
        case .own: throw Self.refusal(oldRecord, "is not a record of purl's")
        case .strange(let what): throw Self.refusal(oldRecord, what)
        }
        try Self.checked("“\(oldRecord.lastPathComponent)” cannot be saved") { () throws(SystemError) in
            do throws(SystemError) {
                try layer.move(found.path, to: oldRecord.path)
            } catch {
                // The transfer that has completed the file has removed its record.
                guard error.code == ENOENT else { throw error }
            }
        }
    }

    /// Puts the record of the complete file into its place again, when there is no other version of it.
    func restoreRecordOfFile() {
        guard layer.entry(record.path) == .missing,
            ResumeRecord(contentsOf: oldRecord, of: file, through: layer)?.describesComplete(fileAt: file) == true
        else { return }
        try? layer.move(oldRecord.path, to: record.path)
    }

    /// Removes the bytes and the record.
    func remove() throws(CommandFailure) {
        for url in [bytes, newRecord, record] { try remove(url) }
        restoreRecordOfFile()
    }

    /// Removes the record of bytes that have lost their name, unless another transfer has begun there.
    func removeStrayRecord() {
        guard !isBeingWritten else { return }
        removeRecord()
        restoreRecordOfFile()
    }

    /// Removes one of the files, if it is there.
    func remove(_ url: URL) throws(CommandFailure) {
        try Self.checked("“\(url.lastPathComponent)” cannot be removed") { () throws(SystemError) in
            _ = try layer.removeExisting(url.path)
        }
    }

    /// Removes `FILE.part` if it is empty, and its record: a transfer creates them before the first byte arrives. The record of
    /// the complete file stays.
    func removeIfEmpty() {
        guard length(of: bytes) == 0 else { return }
        layer.remove(bytes.path)
        if let found = ResumeRecord(contentsOf: record, of: file, through: layer), found.describesComplete(fileAt: file)
        {
            return
        }
        removeRecord()
        restoreRecordOfFile()
    }

    /// The record of the complete file of one of `urls`, if it was kept and describes exactly these bytes.
    func recordOfFinishedFile(for urls: [URL]) -> ResumeRecord? {
        // Beside bytes the record is theirs, and that of the file was set aside.
        let places = length == 0 ? [record, oldRecord] : [oldRecord]
        return places.compactMap { ResumeRecord(contentsOf: $0, of: file, through: layer) }
            .first { $0.isOf(urls) && $0.describesComplete(fileAt: file) }
    }

    /// Renames the complete bytes to the file.
    ///
    /// - Parameter keepsRecord: Keeps the record, by which the file is recognised as complete.
    func finish(replacing: Bool, keepsRecord: Bool) throws(CommandFailure) {
        let isNothingLost = length == 0 && length(of: file) == 0
        let isReplaced =
            switch layer.entry(file.path) {
            case .regular: replacing || isNothingLost
            case .missing, .folder, .link, .device, .pipe, .socket: false
            }
        try Self.checked("“\(file.lastPathComponent)” cannot be saved") { () throws(SystemError) in
            if isReplaced {
                try layer.move(bytes.path, to: file.path)
            } else {
                try layer.move(bytes.path, toFree: file.path)
            }
        } onExisting: {
            CommandFailure(
                "“\(file.lastPathComponent)” was created or changed meanwhile. The complete download is in “\(bytes.lastPathComponent)”."
            )
        }
        // It was the record of the file that was replaced.
        if ResumeRecord(contentsOf: oldRecord, through: layer) != nil { layer.remove(oldRecord.path) }
        if !keepsRecord { removeRecord() }
    }

    /// Removes the record, unless the file is not a record of purl's.
    func removeRecord() {
        guard ResumeRecord(contentsOf: record, through: layer) != nil else { return }
        layer.remove(newRecord.path)
        layer.remove(record.path)
    }

    /// The length of a regular file; `nil` when there is none.
    func length(of url: URL) -> Int64? { layer.entry(url.path).regularFile?.length }

    private static func checked(
        _ sentence: String, _ change: () throws(SystemError) -> Void,
        onExisting: (() -> CommandFailure)? = nil
    ) throws(CommandFailure) {
        do throws(SystemError) {
            try change()
        } catch {
            if error.code == EEXIST, let failure = onExisting?() { throw failure }
            throw CommandFailure("\(sentence): \(error.reason).")
        }
    }
}

extension ResumeRecord {
    /// The URL as it is shown.
    var shownURL: String { url.shownOrigin }

    /// Whether the bytes are of one of these URLs.
    fileprivate func isOf(_ urls: [URL]) -> Bool {
        urls.contains { $0.absoluteString == url.absoluteString }
    }
}

/// An exclusive lock on a file, against transfers in this process and others, held until it is deallocated.
final class FileLock: Sendable {
    /// Why there is no lock.
    enum Failure: Error {
        case cannotOpen
        /// Another holder has it.
        case taken
    }

    private let file: any OpenFile

    /// Takes the lock that the library's sinks use, or fails at once.
    init(_ url: URL, through files: any FileLayer = SystemFiles()) throws(Failure) {
        do throws(LockFailure) {
            file = try files.openLocked(url.path, .reading)
        } catch {
            switch error {
            case .system, .link, .notRegular, .hasOtherNames: throw .cannotOpen
            case .taken, .replaced: throw .taken
            }
        }
    }

    /// What the file is now.
    var status: FileStatus? { try? file.status() }

    /// Whether the file still is the one at `url`.
    func isFound(at url: URL) -> Bool { file.isFound(at: url.path) }
}
