import Foundation
import PurlIO
import PurlTesting
import Synchronization

@testable import Purl
@testable import SessionFixtures

/// A background download from its first to its last call, with all its calls to the file layer.
struct RecordedDownload {
    /// How the download begins, and what happens to it.
    enum Story: CaseIterable, Sendable {
        case fresh, goesOn, resourceChanged, goesOnFromResumeData
    }

    static let path = "/file"
    let server: LoopbackServer
    let home: BackgroundHome
    let files: RecordingFiles
    /// The resource at the end.
    let content: Data
    let oldContent: Data
    let error: URLError?
    let file: Data?

    /// - Parameters:
    ///   - size: Above half a megabyte there are checkpoints.
    ///   - fails: Which calls fail with a full disk.
    init(
        _ story: Story, size: Int = 700_000, failing fails: @escaping @Sendable (FileCall) -> Bool = { _ in false }
    ) async throws {
        let server = try LoopbackServer()
        let old = GeneratedContent(size: size, seed: 21).data
        var home = BackgroundHome()
        var blob: Data?
        if story != .fresh {
            let url = server.route(
                Self.path, .bytes(old).entityTag("\"v1\"").stalled(afterBytes: size * 9 / 10))
            let witness = Witness()
            let session = home.makeSession(witness)
            session.downloadTask(with: url).resume()
            await witness.wait { $0.last == .wrote(Int64(size * 9 / 10), of: Int64(size)) }
            // Another boot continues only from what had reached the disk.
            try await home.waitForJournal(toHold: "\"bytesReceived\":\(size * 9 / 10)")
            home = try home.afterCrash(named: "recorded")
            try home.changeBoot()
            session.invalidateAndCancel()
            await witness.wait { $0.last == .invalid }
            if story == .goesOnFromResumeData {
                let launch = await Launch(home)
                _ = await launch.events()
                blob = launch.tasks.first.flatMap { launch.witness.error(of: $0)?.downloadTaskResumeData }
                await launch.end()
            }
        }
        // The same length and tail: only the first bytes and the tag differ, so a digest of the tail does not help.
        var new = old
        if story == .resourceChanged { for index in 0..<1000 { new[index] ^= 0xFF } }
        let url = server.route(Self.path, Self.reply(new, tag: story == .resourceChanged ? "\"v2\"" : "\"v1\""))
        server.forgetRequests()

        files = RecordingFiles(over: home, failing: fails)
        let witness = Witness()
        let session = home.makeSession(witness, through: files, continuing: true)
        let task: URLSessionTask?
        if let blob {
            task = session.downloadTask(withResumeData: blob)
            task?.resume()
        } else if story == .fresh {
            task = session.downloadTask(with: url)
            task?.resume()
        } else {
            task = await session.allTasks.first
        }
        await witness.completion()
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        file = task.flatMap { witness.file(of: $0) }
        error = task.flatMap { witness.error(of: $0) }
        (self.server, self.home, content, oldContent) = (server, home, new, old)
    }

    /// In pieces, so that there are several points for a power loss.
    static func reply(_ content: Data, tag: String) -> Reply {
        .bytes(content).entityTag(tag).inPieces(of: 100_000)
    }

    var journal: String { home.journal.path }
}

/// One call to the file layer that changes what is on disk, or makes it safe.
enum FileCall: Sendable {
    /// A file was created, or an existing one opened.
    case open(Int, path: String)
    case write(Int, at: Int64, Data)
    case truncate(Int, to: Int64)
    case synchronize(Int)
    case move(String, to: String)
    case remove(String)
    case synchronizeFolder(String)
}

/// The system's files, with a list of all calls.
///
/// Calls run one at a time, so the list has the order in which they took effect. Files are known by numbers, since
/// their names change.
final class RecordingFiles: FileLayer {
    /// No boot of the machine's: what is left is as after a power loss.
    let bootIdentifier: String? = "a boot that is over"

    private struct State {
        var names: [String: Int]
        var count: Int
        var calls: [FileCall] = []
    }

    /// The disk before the first call.
    let start: RecordedDisk
    private let state: Mutex<State>
    private let fails: @Sendable (FileCall) -> Bool

    /// - Parameters:
    ///   - home: Its present files are safe.
    ///   - fails: Which calls fail with a full disk. They change nothing.
    init(over home: BackgroundHome, failing fails: @escaping @Sendable (FileCall) -> Bool = { _ in false }) {
        start = RecordedDisk(home.folder)
        state = Mutex(State(names: start.names, count: start.names.count))
        self.fails = fails
    }

    var calls: [FileCall] { state.withLock { $0.calls } }

    /// The disk after the first `count` calls.
    func disk(after count: Int) -> RecordedDisk {
        calls.prefix(count).reduce(into: start) { $0.apply($1) }
    }

    /// The disk before the first call, then after each call.
    var disks: [RecordedDisk] {
        var disks = [start]
        for call in calls {
            var disk = disks[disks.count - 1]
            disk.apply(call)
            disks.append(disk)
        }
        return disks
    }

    fileprivate func record(_ call: FileCall, _ body: () throws(SystemError) -> Void) throws(SystemError) {
        guard !fails(call) else { throw SystemError(code: ENOSPC, operation: "write") }
        try state.withLock { (state) throws(SystemError) in
            try body()
            state.calls.append(call)
        }
    }

    // MARK: FileLayer

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        try state.withLock { (state) throws(SystemError) -> any OpenFile in
            let file = try SystemFiles().open(path, opening)
            let number = state.names[path] ?? state.count
            if state.names.updateValue(number, forKey: path) == nil { state.count += 1 }
            state.calls.append(.open(number, path: path))
            return RecordingFile(file, number, self)
        }
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try record(.move(path, to: newPath)) { () throws(SystemError) in
            try SystemFiles().move(path, to: newPath)
        }
        state.withLock { $0.names[newPath] = $0.names.removeValue(forKey: path) }
    }

    func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        var existed = false
        try record(.remove(path)) { () throws(SystemError) in existed = try SystemFiles().removeExisting(path) }
        _ = state.withLock { $0.names.removeValue(forKey: path) }
        return existed
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try record(.synchronizeFolder(path)) { () throws(SystemError) in
            try SystemFiles().synchronizeFolder(path)
        }
    }
}

private final class RecordingFile: OpenFile {
    private let file: any OpenFile
    private let number: Int
    private let files: RecordingFiles

    init(_ file: any OpenFile, _ number: Int, _ files: RecordingFiles) {
        self.file = file
        self.number = number
        self.files = files
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try files.record(.write(number, at: offset, Data(bytes))) { () throws(SystemError) in
            try file.write(bytes, at: offset)
        }
    }

    func truncate(to length: Int64) throws(SystemError) {
        try files.record(.truncate(number, to: length)) { () throws(SystemError) in try file.truncate(to: length) }
    }

    func synchronize() throws(SystemError) {
        try files.record(.synchronize(number)) { () throws(SystemError) in try file.synchronize() }
    }
}

extension BackgroundHome {
    /// A session that uses `files`.
    func makeSession(
        _ delegate: (any URLSessionDelegate)?, through files: any FileLayer, continuing: Bool = false
    ) -> URLSession {
        var values = configuration {
            $0.continuesDownloadsAfterRelaunch = continuing
            $0.graceClock = ManualClock()
        }.snapshot
        values.files = files
        return sandbox.session(of: URLSessionConfiguration(values), delegate)
    }
}

/// A disk as a process knows it: what is safe, and the changes since, which a power loss may or may not keep.
struct RecordedDisk: Sendable {
    /// A change to a file since its last synchronisation.
    enum Change: Sendable {
        case write(at: Int64, Data)
        case truncate(to: Int64)
    }

    struct File: Sendable {
        var safe = Data()
        var pending: [Change] = []

        /// The bytes that a process reads.
        var now: Data { pending.reduce(into: safe) { $0.apply($1) } }
    }

    /// What a power loss does to changes that were not synchronised.
    enum Loss: CaseIterable, Sendable {
        /// None is kept.
        case all
        /// All are kept, as after a kill of the process alone.
        case none
        /// The last one is kept by half.
        case torn
        /// The lengths are kept, the bytes are zeros.
        case zeros
        /// Only the last one is kept.
        case overtaken
    }

    private(set) var files: [Int: File] = [:]
    /// The files' numbers by path.
    private(set) var names: [String: Int] = [:]
    /// The names that a power loss keeps.
    private(set) var safeNames: [String: Int] = [:]

    /// All files of a folder, all of them safe.
    init(_ folder: URL) {
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        for path in paths.map({ "\(folder.path)/\($0)" }) {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
                let data = try? Data(contentsOf: URL(fileURLWithPath: path))
            else { continue }
            names[path] = files.count
            files[files.count] = File(safe: data)
        }
        safeNames = names
    }

    mutating func apply(_ call: FileCall) {
        switch call {
        case .open(let number, let path):
            names[path] = number
            if files[number] == nil { files[number] = File() }
        case .write(let number, let offset, let data):
            files[number]?.pending.append(.write(at: offset, data))
        case .truncate(let number, let length):
            files[number]?.pending.append(.truncate(to: length))
        case .synchronize(let number):
            if let now = files[number]?.now { files[number] = File(safe: now) }
        case .move(let path, let newPath):
            names[newPath] = names.removeValue(forKey: path)
        case .remove(let path):
            names[path] = nil
        case .synchronizeFolder(let folder):
            safeNames = safeNames.filter { Self.folder(of: $0.key) != folder }
            for (path, number) in names where Self.folder(of: path) == folder { safeNames[path] = number }
        }
    }

    private static func folder(of path: String) -> String { (path as NSString).deletingLastPathComponent }

    func file(_ path: String) -> File? { names[path].flatMap { files[$0] } }

    /// The files after a power loss.
    ///
    /// - Parameters:
    ///   - journal: The loss of the journal's changes, and of its replacement's.
    ///   - partials: The loss of the other files' changes.
    ///   - losesNames: Whether names that were not synchronised are lost.
    func survivors(journal: Loss, partials: Loss, losesNames: Bool) -> [String: Data] {
        (losesNames ? safeNames : names).reduce(into: [:]) { survivors, entry in
            let loss = entry.key.contains("journal") ? journal : partials
            survivors[entry.key] = files[entry.value]?.survivor(loss)
        }
    }
}

extension RecordedDisk.File {
    func survivor(_ loss: RecordedDisk.Loss) -> Data {
        guard let last = pending.last else { return safe }
        switch loss {
        case .all: return safe
        case .none: return now
        case .torn:
            let before = pending.dropLast().reduce(into: safe) { $0.apply($1) }
            guard case .write(let offset, let data) = last else { return before }
            var torn = before
            torn.apply(.write(at: offset, data.prefix(data.count / 2)))
            return torn
        case .zeros:
            return pending.reduce(into: safe) { data, change in
                switch change {
                case .write(let offset, let bytes): data.apply(.write(at: offset, Data(count: bytes.count)))
                case .truncate: data.apply(change)
                }
            }
        case .overtaken:
            var data = safe
            data.apply(last)
            return data
        }
    }
}

extension Data {
    fileprivate mutating func apply(_ change: RecordedDisk.Change) {
        switch change {
        case .truncate(let length):
            resize(to: Int(length))
        case .write(let offset, let bytes):
            let end = Int(offset) + bytes.count
            if count < end { resize(to: end) }
            replaceSubrange(Int(offset)..<end, with: bytes)
        }
    }

    private mutating func resize(to length: Int) {
        if count > length { removeSubrange(length...) } else { append(Data(count: length - count)) }
    }
}
