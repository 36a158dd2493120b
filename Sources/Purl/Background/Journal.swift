import Foundation
internal import PurlIO

/// A file to which entries are appended, one line each, so that a session's state survives the process.
///
/// A line is `DIGEST ENTRY`: the first 16 hexadecimal digits of the entry's SHA-256, a space, the entry (JSON, which
/// holds no line break). A line that does not match its digest was torn by a crash or damaged later; it is passed over,
/// and the others count. Every entry holds the whole state of its task, so a lost one makes that state old, never
/// inconsistent.
///
/// The format's version is in the file's name, which damage to its bytes cannot change.
struct Journal: Sendable {
    /// The name of a journal in this format.
    static let fileName = "tasks.v1.journal"
    /// Longer files are not read to their end. Rewriting keeps a journal far below.
    private static let maximumSize = 64 << 20
    private static let digestLength = 16

    private let path: String
    private let files: any FileLayer
    private var file: any OpenFile
    /// Where the next line goes. After a write that failed half-way the file itself may be longer.
    private(set) var length: Int64 = 0

    /// Opens the journal in `folder`, or makes it.
    ///
    /// - Parameter entries: What it holds, in its order.
    init(in folder: URL, files: any FileLayer, entries: inout [Data]) throws(FileFailure) {
        path = folder.appendingPathComponent(Self.fileName).path
        self.files = files
        do {
            file = try files.open(path, .existingOrNew)
            let size = Int(min(try file.size(), Int64(Self.maximumSize)))
            let bytes = try file.read(size, at: 0)
            // A torn last line does not count, even if its line break alone is missing: the next one takes its place.
            let whole = bytes.prefix(bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0)
            entries = Self.entries(in: whole)
            length = Int64(whole.count)
        } catch {
            throw FileFailure(.open, folder.appendingPathComponent(Self.fileName), error)
        }
    }

    /// Adds an entry.
    ///
    /// - Parameter durably: Returns only when the entry would survive a power loss, too.
    mutating func append(_ entry: Data, durably: Bool) throws(FileFailure) {
        let line = Self.line(entry)
        do {
            try file.write(line, at: length)
            length += Int64(line.count)
            if durably { try file.synchronize() }
        } catch {
            throw FileFailure(.write, URL(fileURLWithPath: path), error)
        }
    }

    /// Replaces all entries by these, in one step.
    mutating func rewrite(_ entries: [Data]) throws(FileFailure) {
        var lines = Data()
        for entry in entries { lines.append(Self.line(entry)) }
        do {
            file = try files.replace(path, with: lines)
            length = Int64(lines.count)
            try files.synchronizeFolder((path as NSString).deletingLastPathComponent)
        } catch {
            throw FileFailure(.write, URL(fileURLWithPath: path), error)
        }
    }

    private static func line(_ entry: Data) -> Data {
        var line = Data(digest(entry).utf8)
        line.append(UInt8(ascii: " "))
        line.append(entry)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func entries(in bytes: Data) -> [Data] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.count > digestLength, line.dropFirst(digestLength).first == UInt8(ascii: " ") else { return nil }
            let entry = Data(line.dropFirst(digestLength + 1))
            return line.prefix(digestLength).elementsEqual(digest(entry).utf8) ? entry : nil
        }
    }

    private static func digest(_ entry: Data) -> String {
        String(entry.sha256.prefix(digestLength))
    }
}
