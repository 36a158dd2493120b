import Foundation
internal import PurlIO

/// A file to which entries are appended, one line each, so that a session's state survives the process.
///
/// A line is `DIGEST ENTRY`: the first 16 hexadecimal digits of the entry's SHA-256, a space, the entry (JSON, which
/// holds no line break). A line that does not match its digest was torn by a crash or damaged later; it is passed over,
/// and the others count. Every entry holds the whole state of its task, so a lost one makes that state old, never
/// inconsistent.
///
/// The file gets a successor when most of it is history. Entries are appended to the old file until the successor, which
/// then holds them too, takes its name: see ``JournalSuccessor``.
///
/// The format's version is in the file's name, which damage to its bytes cannot change.
struct Journal: Sendable {
    /// The name of a journal in this format.
    static let fileName = "tasks.v1.journal"
    /// The file does not grow above this length in bytes, and a longer one is not read to its end.
    static let maximumSize: Int64 = 64 << 20
    private static let digestLength = 16

    private enum SuccessorStage {
        case none
        /// The lines that a successor does not hold yet.
        case prepared(missing: Data)
    }

    /// The file that has the journal's name.
    private(set) var file: JournalFile
    /// Where the next line goes. After a write that failed half-way the file itself may be longer.
    private(set) var length: Int64 = 0
    private var successorStage = SuccessorStage.none

    /// Opens the journal in `folder`, or makes it.
    ///
    /// - Parameter entries: What it holds, in its order.
    init(in folder: URL, files: any FileLayer, entries: inout [Data]) throws(FileFailure) {
        let path = folder.appendingPathComponent(Self.fileName).path
        do {
            let opened = try files.open(path, .existingOrNew)
            file = JournalFile(path: path, files: files, file: opened)
            let size = Int(min(try opened.size(), Self.maximumSize))
            let bytes = try opened.read(size, at: 0)
            (entries, length) = Self.entries(in: bytes)
        } catch {
            throw FileFailure(.open, folder.appendingPathComponent(Self.fileName), error)
        }
        // An earlier process may have been killed before it gave its successor the name.
        files.remove(file.successorPath)
    }

    /// Adds an entry: it survives the process when this returns.
    mutating func append(_ entry: Data) throws(FileFailure) {
        let line = Self.line(entry)
        do throws(SystemError) {
            guard length + Int64(line.count) <= Self.maximumSize else {
                throw SystemError(code: EFBIG, operation: "write")
            }
            try file.file.write(line.bytes, at: length)
        } catch {
            throw FileFailure(.write, URL(fileURLWithPath: file.path), error)
        }
        length += Int64(line.count)
        guard case .prepared(var missing) = successorStage else { return }
        // One owner at a time, so that the bytes are not copied.
        successorStage = .none
        missing.append(line)
        successorStage = .prepared(missing: missing)
    }

    /// The length in bytes of an entry's line.
    static func lineLength(of entry: Data) -> Int64 {
        Int64(digestLength + 1 + entry.count + 1)
    }

    // MARK: The successor

    /// Creates the file that is to replace this one. From now on entries are kept for it, too.
    mutating func prepareSuccessor() throws(SystemError) -> JournalSuccessor {
        let successor = JournalSuccessor(file: try file.files.createSuccessor(of: file.path, Data().bytes))
        successorStage = .prepared(missing: Data())
        return successor
    }

    /// Returns, once, the lines that were appended since the successor was prepared; `nil` when it was dropped.
    mutating func takeMissingLines() -> Data? {
        guard case .prepared(let missing) = successorStage else { return nil }
        successorStage = .prepared(missing: Data())
        return missing
    }

    /// Puts the successor, with the lines that it does not hold yet, in the place of the file, in one step.
    ///
    /// - Returns: False when it was dropped.
    mutating func complete(_ successor: inout JournalSuccessor) throws(SystemError) -> Bool {
        guard let missing = takeMissingLines() else { return false }
        do {
            try successor.append(lines: missing)
            try file.files.installSuccessor(of: file.path)
        } catch {
            dropSuccessor()
            throw error
        }
        file.file = successor.file
        length = successor.length
        successorStage = .none
        return true
    }

    /// Removes the successor, if one was prepared.
    mutating func dropSuccessor() {
        guard case .prepared = successorStage else { return }
        successorStage = .none
        file.files.remove(file.successorPath)
    }

    // MARK: Lines

    fileprivate static func line(_ entry: Data) -> Data {
        var line = Data(digest(entry).utf8)
        line.append(UInt8(ascii: " "))
        line.append(entry)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// The entries of a journal, and where its last whole line ends. A torn one does not count, even if its line break alone is
    /// missing: the next one takes its place.
    private static func entries(in bytes: Data) -> ([Data], Int64) {
        var entries: [Data] = []
        var start = 0
        while true {
            let end = bytes.span.lineFeed(in: start..<bytes.count)
            guard end < bytes.count else { return (entries, Int64(start)) }
            if let entry = entry(of: bytes.dropFirst(start).prefix(end - start)) { entries.append(entry) }
            start = end + 1
        }
    }

    private static func entry(of line: Data) -> Data? {
        guard line.count > digestLength, line.dropFirst(digestLength).first == UInt8(ascii: " ") else { return nil }
        let entry = Data(line.dropFirst(digestLength + 1))
        return line.prefix(digestLength).elementsEqual(digest(entry).utf8) ? entry : nil
    }

    private static func digest(_ entry: Data) -> String {
        String(entry.sha256.prefix(digestLength))
    }
}

/// The file of a journal, apart from its lines: all that is needed to wait for the disk.
struct JournalFile: Sendable {
    let path: String
    let files: any FileLayer
    fileprivate(set) var file: any OpenFile

    /// The name of a file that is to take this one's place.
    fileprivate var successorPath: String { files.successor(of: path) }

    /// Returns when all lines have reached the disk.
    func synchronize() throws(FileFailure) {
        do {
            try file.synchronize()
        } catch {
            throw FileFailure(.write, URL(fileURLWithPath: path), error)
        }
    }

    /// Returns when the name has reached the disk.
    func synchronizeName() throws(FileFailure) {
        let folder = (path as NSString).deletingLastPathComponent
        do {
            try files.synchronizeFolder(folder)
        } catch {
            throw FileFailure(.write, URL(fileURLWithPath: folder, isDirectory: true), error)
        }
    }
}

/// The file that is to replace a journal, while it is written: the state of every task first, then the lines that the
/// journal received meanwhile. Away from the journal, so that writing it holds up no change.
struct JournalSuccessor: Sendable {
    let file: any OpenFile
    private(set) var length: Int64 = 0

    fileprivate init(file: any OpenFile) {
        self.file = file
    }

    /// Adds entries.
    mutating func append(_ entries: [Data]) throws(SystemError) {
        try append(lines: entries.reduce(into: Data()) { $0.append(Journal.line($1)) })
    }

    /// Adds lines of the journal.
    mutating func append(lines: Data) throws(SystemError) {
        guard !lines.isEmpty else { return }
        try file.write(lines.bytes, at: length)
        length += Int64(lines.count)
    }
}
