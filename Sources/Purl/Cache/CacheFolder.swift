import Foundation
internal import PurlIO

/// The folder in which a cache keeps its files, one for each response.
///
/// A file's name says what it answers and when it was stored, so that no file need be opened to know what is there; its
/// date says when it was used last. Other files in the folder are left alone. All calls block.
struct CacheFolder: Sendable {
    /// A file by what its name says.
    struct Name: Hashable, Sendable {
        let slot: CacheSlot
        /// Milliseconds since 1970.
        let stored: Int64
    }

    /// A file that was found.
    struct Finding: Sendable {
        let name: Name
        let size: Int
        let used: Date
    }

    /// Longer files are not read.
    private static let maximumSize: Int64 = 1 << 32

    let url: URL
    let files: any FileLayer

    /// The program's own.
    static var program: URL {
        UserFolders.caches
            .appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
            .appendingPathComponent("URLCache", isDirectory: true)
    }

    /// What is there, in the order in which it was used. What an interrupted write has left is removed.
    func scan() -> [Finding] {
        let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
        let items =
            (try? FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: Array(keys))) ?? []
        var findings: [Finding] = []
        for item in items {
            let fileName = item.lastPathComponent
            if fileName.hasSuffix(Self.unfinished) {
                if Name(fileName.dropLast(Self.unfinished.count)) != nil { files.remove(item.path) }
            } else if let name = Name(fileName[...]) {
                let values = try? item.resourceValues(forKeys: keys)
                findings.append(
                    Finding(
                        name: name, size: values?.fileSize ?? 0,
                        used: values?.contentModificationDate ?? .distantPast))
            }
        }
        return findings.sorted { ($0.used, $0.name.stored) < ($1.used, $1.name.stored) }
    }

    /// The bytes of a file; `nil` when it is not there or cannot be read.
    func read(_ name: Name) -> Data? {
        guard let file = try? files.open(path(name), .existing), let size = try? file.size(),
            size <= Self.maximumSize
        else { return nil }
        return try? file.read(Int(size), at: 0)
    }

    /// Writes a file under a name for the time being, then gives it its own. It is not brought to the disk by force: what
    /// a power loss makes of it does not match its digest, and can be had again.
    func write(_ bytes: Data, to name: Name) throws {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let fresh = path(name) + Self.unfinished
        files.remove(fresh)
        do {
            try files.open(fresh, .creating).write(bytes, at: 0)
            try files.move(fresh, to: path(name))
        } catch {
            files.remove(fresh)
            throw error
        }
    }

    /// Notes that a file was used.
    func use(_ name: Name, at date: Date) {
        try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path(name))
    }

    func remove(_ name: Name) {
        files.remove(path(name))
    }

    private static let unfinished = ".new"

    private func path(_ name: Name) -> String { url.appendingPathComponent(name.text).path }
}

extension CacheFolder.Name {
    /// Two numbers of 16 hexadecimal digits, and one of decimal digits.
    var text: String { "\(Self.hexadecimal(slot.number))-\(Self.hexadecimal(slot.variant))-\(stored)" }

    /// `nil` when it is not the name of a cache's file.
    init?(_ text: Substring) {
        let parts = text.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 16, parts[1].utf8.count == 16,
            let number = UInt64(parts[0], radix: 16), let variant = UInt64(parts[1], radix: 16),
            let stored = Int64(parts[2])
        else { return nil }
        self.init(slot: CacheSlot(number: number, variant: variant), stored: stored)
        guard self.text == text else { return nil }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
