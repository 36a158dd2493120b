import Foundation
import PurlIO

/// The disk of a simulated computer: real files, and what would be lost of them without power.
///
/// Each change is kept, with what was there before, until it is synchronised. A loss of power takes some of them back: of each
/// page the changes after some point in time, and the newest changes of names. That is what a journaling file system may
/// leave: names change in order, and contents in any.
///
/// Used on the thread of its simulation alone.
final class Disk: @unchecked Sendable {
    private enum Change {
        /// Bytes of a page were written; before there were these.
        case bytes(RegularFile, UInt64, page: Int64, offset: Int64, before: [UInt8])
        case length(RegularFile, UInt64, before: Int64)
        case created(String)
        case moved(String, to: String, replaced: [UInt8]?)
        case removed(String, content: [UInt8])

        /// The folder whose synchronisation makes a change of names last.
        var folder: String? {
            switch self {
            case .bytes, .length: nil
            case .created(let path), .removed(let path, _), .moved(_, let path, _):
                (path as NSString).deletingLastPathComponent
            }
        }

        var file: UInt64? {
            switch self {
            case .bytes(_, let number, _, _, _), .length(_, let number, _): number
            case .created, .moved, .removed: nil
            }
        }
    }

    private static let pageSize: Int64 = 4_096

    /// Which start of the computer this is.
    private(set) var boot = 1
    private var changes: [Change] = []
    private var random: SeededRandom

    init(_ random: SeededRandom) {
        self.random = random
    }

    /// How many changes a loss of power could take back.
    var unsynchronizedChanges: Int { changes.count }

    // MARK: Changes

    func willWrite(_ count: Int, at offset: Int64, to file: RegularFile) {
        guard count > 0, let status = try? file.status() else { return }
        let number = status.identity.number
        let end = offset + Int64(count)
        var start = offset
        while start < end {
            let page = start / Self.pageSize
            let next = min(end, (page + 1) * Self.pageSize)
            var before = (try? file.read(Int(next - start), at: start)) ?? []
            // Where the file was shorter it may become longer without its new bytes.
            before += [UInt8](repeating: 0, count: Int(next - start) - before.count)
            changes.append(.bytes(file, number, page: page, offset: start, before: before))
            start = next
        }
        if end > status.length { changes.append(.length(file, number, before: status.length)) }
    }

    func willTruncate(_ file: RegularFile, to length: Int64) {
        guard let status = try? file.status() else { return }
        if length < status.length { willWrite(Int(status.length - length), at: length, to: file) }
        changes.append(.length(file, status.identity.number, before: status.length))
    }

    func didCreate(_ path: String) {
        changes.append(.created(path))
    }

    func willMove(_ path: String, to newPath: String) -> () -> Void {
        let replaced = content(of: newPath)
        return { self.changes.append(.moved(path, to: newPath, replaced: replaced)) }
    }

    func willRemove(_ path: String) -> () -> Void {
        guard let content = content(of: path) else { return {} }
        return { self.changes.append(.removed(path, content: content)) }
    }

    private func content(of path: String) -> [UInt8]? {
        guard case .regular(let status) = FileEntry(atPath: path) else { return nil }
        return (try? RegularFile(path, .reading)).flatMap { try? $0.read(Int(status.length), at: 0) }
    }

    // MARK: Synchronisation

    func synchronize(_ file: RegularFile) {
        guard let number = try? file.status().identity.number else { return }
        changes.removeAll { $0.file == number }
    }

    func synchronizeFolder(_ path: String) {
        let folder = (path as NSString).standardizingPath
        changes.removeAll { $0.folder.map { ($0 as NSString).standardizingPath == folder } == true }
    }

    /// Takes back some of what was not synchronised.
    func losePower() {
        boot += 1
        var lastingPages: Set<[UInt64]> = []
        var lastingLengths: Set<UInt64> = []
        let nameCount = changes.count { $0.folder != nil }
        var namesToUndo = nameCount == 0 ? 0 : random.index(below: nameCount + 1)
        for change in changes.reversed() {
            switch change {
            case .bytes(let file, let number, let page, let offset, let before):
                let key = [number, UInt64(page)]
                if lastingPages.contains(key) || random.oneIn(2) {
                    lastingPages.insert(key)
                } else {
                    let rest = max(0, ((try? file.size()) ?? 0) - offset)
                    _ = before.prefix(Int(min(rest, Int64(before.count)))).withUnsafeBytes {
                        try? file.write($0, at: offset)
                    }
                }
            case .length(let file, let number, let before):
                if lastingLengths.contains(number) || random.oneIn(2) {
                    lastingLengths.insert(number)
                } else {
                    _ = try? file.truncate(to: before)
                }
            case .created, .moved, .removed:
                guard namesToUndo > 0 else { continue }
                namesToUndo -= 1
                undoName(change)
            }
        }
        changes = []
    }

    private func undoName(_ change: Change) {
        // The program may have moved a file by itself: then there is nothing to take back.
        switch change {
        case .created(let path): _ = try? RegularFile.removeExisting(path)
        case .moved(let path, let newPath, let replaced):
            _ = try? RegularFile.move(newPath, to: path)
            if let replaced { restore(newPath, replaced) }
        case .removed(let path, let content): restore(path, content)
        case .bytes, .length: break
        }
    }

    private func restore(_ path: String, _ content: [UInt8]) {
        guard let file = try? RegularFile(path, .existingOrNew) else { return }
        _ = content.withUnsafeBytes { try? file.write($0, at: 0) }
    }
}

/// The files of a simulated process: real ones, whose changes the disk records.
final class SimulatedFiles: FileLayer {
    private let process: SimulatedProcess
    private var disk: Disk { process.computer.disk }

    init(_ process: SimulatedProcess) {
        self.process = process
    }

    var bootIdentifier: String? { "\(process.computer.name)-\(disk.boot)" }

    func entry(_ path: String) -> FileEntry { FileEntry(atPath: path) }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        try process.checkDisk("open")
        let isNew = FileEntry(atPath: path) == .missing
        let file = try RegularFile(path, opening)
        if isNew { disk.didCreate(path) }
        return SimulatedFile(file, of: process)
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try process.checkDisk("rename")
        let moved = disk.willMove(path, to: newPath)
        try RegularFile.move(path, to: newPath)
        moved()
    }

    func move(_ path: String, toFree newPath: String) throws(SystemError) {
        try process.checkDisk("rename")
        let moved = disk.willMove(path, to: newPath)
        try RegularFile.move(path, toFree: newPath)
        moved()
    }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        let removed = disk.willRemove(path)
        let wasThere = try RegularFile.removeExisting(path)
        removed()
        return wasThere
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try process.checkDisk("fsync")
        disk.synchronizeFolder(path)
    }
}

/// An open file of a simulated process.
final class SimulatedFile: OpenFile, @unchecked Sendable {
    // Used on the thread of the simulation alone.
    private let file: RegularFile
    private let process: SimulatedProcess
    private var disk: Disk { process.computer.disk }

    init(_ file: RegularFile, of process: SimulatedProcess) {
        self.file = file
        self.process = process
    }

    func lock() throws(SystemError) -> Bool {
        guard try file.lock() else { return false }
        process.holdsLock(of: file)
        return true
    }

    func unlock() {
        file.unlock()
        process.releasesLock(of: file)
    }

    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }
    func openToOthers() throws(SystemError) { try file.openToOthers() }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        do throws(SystemError) {
            try process.checkDisk("pwrite")
        } catch {
            // A disk that is full has taken a part.
            let part = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
            disk.willWrite(part.count, at: offset, to: file)
            try file.write(part, at: offset)
            throw error
        }
        disk.willWrite(bytes.count, at: offset, to: file)
        try file.write(bytes, at: offset)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func truncate(to length: Int64) throws(SystemError) {
        try process.checkDisk("ftruncate")
        disk.willTruncate(file, to: length)
        try file.truncate(to: length)
    }

    func synchronize() throws(SystemError) {
        try process.checkDisk("fsync")
        disk.synchronize(file)
    }

    deinit {
        process.releasesLock(of: file)
    }
}
