import Foundation
import PurlIO

/// The disk of a simulated computer: real files, and what would be lost of them without power.
///
/// Each change is kept, with what was there before, until it is synchronised. A loss of power takes some of them back: of each
/// page the changes after some point in time, and of each name, with those that it was moved from and to, likewise. Pages,
/// lengths and names are independent of each other, so that any subset may be lost; but a rename is one step. Folders that
/// were made stay.
///
/// Used on the thread of its simulation alone.
final class Disk: @unchecked Sendable {
    /// What was in a file that has lost its name, and when it was written.
    private struct Content {
        let bytes: [UInt8]
        let modified: FileStatus.Time
    }

    private enum Change {
        /// So many bytes of a page were written; before there were these, or fewer where the file ended.
        case bytes(RegularFile, UInt64, page: Int64, offset: Int64, count: Int, before: [UInt8])
        case length(RegularFile, UInt64, before: Int64)
        case created(String)
        case moved(String, to: String, replaced: Content?)
        case removed(String, content: Content)

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
            case .bytes(_, let number, _, _, _, _), .length(_, let number, _): number
            case .created, .moved, .removed: nil
            }
        }

        /// The names that it has changed.
        var names: [String] {
            switch self {
            case .bytes, .length: []
            case .created(let path), .removed(let path, _): [path]
            case .moved(let path, let newPath, _): [path, newPath]
            }
        }
    }

    private static let pageSize: Int64 = 4_096

    /// Which start of the computer this is.
    private(set) var boot = 1
    private var changes: [Change] = []
    /// The process that has written to a file last, by the file's number.
    private var writers: [UInt64: SimulatedProcess] = [:]
    private var standardizedFolders: [String: String] = [:]
    private var random: SeededRandom

    init(_ random: SeededRandom) {
        self.random = random
    }

    /// Until when there is no room; the simulation's time in nanoseconds.
    private(set) var fullUntil: Int64 = 0

    /// There is no room until some time.
    func fill(until time: Int64) {
        fullUntil = time
    }

    /// How many of so many bytes are written when the process ends meanwhile.
    func drawPart(of count: Int) -> Int { random.oneIn(2) ? 0 : random.index(below: count + 1) }

    // MARK: Changes

    func willWrite(_ count: Int, at offset: Int64, to file: RegularFile) {
        guard count > 0, let status = try? file.status() else { return }
        let number = status.identity.number
        let end = offset + Int64(count)
        var start = offset
        while start < end {
            let page = start / Self.pageSize
            let next = min(end, (page + 1) * Self.pageSize)
            let before = start < status.length ? (try? file.read(Int(next - start), at: start)) ?? [] : []
            changes.append(
                .bytes(file, number, page: page, offset: start, count: Int(next - start), before: before))
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

    private func content(of path: String) -> Content? {
        guard case .regular(let status) = FileEntry(atPath: path),
            let bytes = try? RegularFile(path, .reading).read(Int(status.length), at: 0)
        else { return nil }
        return Content(bytes: bytes, modified: status.modified)
    }

    /// A process writes to a file. Returns another one that has done so and has it open still: it would have to be locked.
    func otherWriter(of file: UInt64, than process: SimulatedProcess) -> SimulatedProcess? {
        let other = writers[file]
        writers[file] = process
        return other !== process && other?.hasOpen(file) == true ? other : nil
    }

    // MARK: Synchronisation

    func synchronize(_ file: RegularFile) {
        guard let number = try? file.status().identity.number else { return }
        changes.removeAll { $0.file == number }
    }

    func synchronizeFolder(_ path: String) {
        let folder = standardized(path)
        changes.removeAll { $0.folder.map(standardized) == folder }
    }

    /// The one path of a folder that may have several. To find it is slow, and a computer has few folders.
    private func standardized(_ folder: String) -> String {
        if let known = standardizedFolders[folder] { return known }
        let path = (folder as NSString).standardizingPath
        standardizedFolders[folder] = path
        return path
    }

    /// Takes back some of what was not synchronised.
    func losePower() {
        boot += 1
        var lastingPages: Set<[UInt64]> = []
        var lastingLengths: Set<UInt64> = []
        var lostNames = drawLostNames()
        for (index, change) in changes.enumerated().reversed() {
            switch change {
            case .bytes(let file, let number, let page, let offset, let count, let before):
                let key = [number, UInt64(page)]
                if lastingPages.contains(key) || random.oneIn(2) {
                    lastingPages.insert(key)
                } else {
                    // Where the file was shorter it may stay longer without its new bytes.
                    let zeros = [UInt8](repeating: 0, count: count - before.count)
                    let rest = max(0, min(((try? file.size()) ?? 0) - offset, Int64(count)))
                    Self.keepingTime(of: file) {
                        _ = (before + zeros).prefix(Int(rest)).withUnsafeBytes { try? file.write($0, at: offset) }
                    }
                }
            case .length(let file, let number, let before):
                if lastingLengths.contains(number) || random.oneIn(2) {
                    lastingLengths.insert(number)
                } else {
                    Self.keepingTime(of: file) { _ = try? file.truncate(to: before) }
                }
            case .created, .moved, .removed:
                if lostNames.remove(index) != nil { undoName(change) }
            }
        }
        forget()
    }

    /// Nothing can be taken back any more.
    func forget() {
        (changes, writers) = ([], [:])
    }

    /// Which changes of names are lost: the newest of each group that has names in common.
    private func drawLostNames() -> Set<Int> {
        var groups: [(names: Set<String>, changes: [Int])] = []
        for (index, change) in changes.enumerated() where change.folder != nil {
            var group = (names: Set(change.names), changes: [index])
            groups.removeAll { other in
                guard !other.names.isDisjoint(with: group.names) else { return false }
                group = (group.names.union(other.names), (group.changes + other.changes).sorted())
                return true
            }
            groups.append(group)
        }
        var lost: Set<Int> = []
        for group in groups { lost.formUnion(group.changes.suffix(random.index(below: group.changes.count + 1))) }
        return lost
    }

    /// Changes bytes of a file at rest, as a disk does that wears out.
    ///
    /// - Returns: Which; `nil` where there are none.
    func damage(_ path: String) -> Range<Int64>? {
        guard let file = try? RegularFile(path, .existing), let size = try? file.size(), size > 0 else { return nil }
        let page = Int64(random.next() % UInt64((size + Self.pageSize - 1) / Self.pageSize))
        let range = page * Self.pageSize..<min(size, (page + 1) * Self.pageSize)
        guard let bytes = try? file.read(Int(range.upperBound - range.lowerBound), at: range.lowerBound) else {
            return nil
        }
        let mask = UInt8(1 + random.index(below: 255))
        let hasChanged = Self.keepingTime(of: file) {
            (try? bytes.map({ $0 ^ mask }).withUnsafeBytes { try file.write($0, at: range.lowerBound) }) != nil
        }
        return hasChanged ? range : nil
    }

    /// Does something to a file that no program does, and that has no time for it: the real machine's would be another year's.
    private static func keepingTime<Result>(of file: RegularFile, _ body: () -> Result) -> Result {
        let time = try? file.status().modified
        defer { if let time { try? file.setModificationTime(time) } }
        return body()
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

    private func restore(_ path: String, _ content: Content) {
        guard let file = try? RegularFile(path, .existingOrNew) else { return }
        _ = content.bytes.withUnsafeBytes { try? file.write($0, at: 0) }
        try? file.setModificationTime(content.modified)
    }
}
