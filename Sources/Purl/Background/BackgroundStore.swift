import Foundation
internal import PurlIO
import Synchronization

/// The folder of a background session: its lock, its journal and its partial files.
///
/// Safe from any thread; calls write to the journal before they return.
final class BackgroundStore: Sendable {
    /// Why a session cannot have its folder.
    enum Refusal: Error {
        /// A session with the identifier exists: here or in another process.
        case inUse(identifier: String)
        case file(FileFailure)
    }

    private struct State {
        var journal: Journal
        var records: [Int: JournaledTask] = [:]
        var lastIdentifier: Int
        var isClosed = false
    }

    /// What the journal may grow by, in bytes, before it is written anew.
    private static let slack: Int64 = 1 << 18

    /// Where the session's partial files lie.
    let partials: PartialsFolder
    /// The tasks that an earlier process left, oldest first.
    let restored: [JournaledTask]
    /// The highest identifier a task has had: programs may call files after them, so none is given twice.
    let lastIdentifier: Int
    /// Held for as long as the session lives; the system lets go of it when the process ends, however it ends.
    private let lock: any OpenFile
    private let state: Mutex<State>

    /// Opens the store of a session with these settings; `nil` if they are not a background session's.
    static func open(_ settings: URLSessionConfiguration.Values) -> Result<BackgroundStore, Refusal>? {
        guard let identifier = settings.identifier else { return nil }
        return Result { () throws(Refusal) in try BackgroundStore(identifier: identifier, settings: settings) }
    }

    init(identifier: String, settings: URLSessionConfiguration.Values) throws(Refusal) {
        let files = settings.files
        let folder: URL
        let journal: Journal
        let entries: [JournalEntry]
        let lock: (any OpenFile)?
        do {
            folder = try BackgroundFolder(settings).prepare(for: identifier)
            lock = try Self.lock(folder.appendingPathComponent("lock"), files)
            var lines: [Data] = []
            journal = try Journal(in: folder, files: files, entries: &lines)
            entries = lines.compactMap(JournalEntry.init(decoding:))
        } catch {
            throw .file(error)
        }
        guard let lock else { throw .inUse(identifier: identifier) }
        self.lock = lock
        partials = PartialsFolder(
            settings.partialDownloadsDirectory ?? folder.appendingPathComponent("Partials", isDirectory: true),
            files: files)
        if journal.length == 0 { Self.secureNames(of: folder, partials) }
        let records = Self.records(in: entries)
        restored = records.values.sorted { $0.identifier < $1.identifier }
        lastIdentifier = entries.map(\.identifier).max() ?? 0
        state = Mutex(State(journal: journal, records: records, lastIdentifier: lastIdentifier))
        partials.removeUnclaimed(except: Set(restored.compactMap(\.partialName)))
    }

    /// Brings a new folder's names to the disk before anything in it counts. A disk that cannot do that fails again
    /// when bytes are synchronised.
    private static func secureNames(of folder: URL, _ partials: PartialsFolder) {
        try? partials.prepare()
        for place in [folder, folder.deletingLastPathComponent(), partials.url.deletingLastPathComponent()] {
            try? partials.files.synchronizeFolder(place.path)
        }
    }

    /// Locks the file that stands for the whole folder; `nil` when another session holds it.
    private static func lock(_ url: URL, _ files: any FileLayer) throws(FileFailure) -> (any OpenFile)? {
        do {
            let file = try files.open(url.path, .existingOrNew)
            return try file.lock() ? file : nil
        } catch {
            throw FileFailure(.open, url, error)
        }
    }

    /// The tasks that were not over. A download that resumes from another's resume data takes over its partial file:
    /// of several that name the same one, the newest has it.
    private static func records(in entries: [JournalEntry]) -> [Int: JournaledTask] {
        var records: [Int: JournaledTask] = [:]
        for entry in entries {
            switch entry {
            case .task(let record): records[record.identifier] = record.checked()
            case .over(let identifier): records[identifier] = nil
            }
        }
        var owners: [String: Int] = [:]
        for record in records.values.sorted(by: { $0.identifier < $1.identifier }) {
            guard let name = record.partialName else { continue }
            if let older = owners.updateValue(record.identifier, forKey: name) { records[older] = nil }
        }
        return records
    }

    // MARK: Writing

    /// Keeps a new task.
    func add(_ record: JournaledTask) throws(FileFailure) {
        try write(durably: false) { records in
            records[record.identifier] = record
            return .task(record)
        }
    }

    /// Changes what is kept of a task; nothing happens when none is kept.
    ///
    /// - Parameter durably: The change has to survive a power loss before what follows it may happen.
    func update(
        _ identifier: Int, durably: Bool = false, _ change: (inout JournaledTask) -> Void
    ) throws(FileFailure) {
        try write(durably: durably) { records in
            guard var record = records[identifier] else { return nil }
            change(&record)
            guard record != records[identifier] else { return nil }
            records[identifier] = record
            return .task(record)
        }
    }

    /// Forgets a task whose last call has been delivered.
    func remove(_ identifier: Int) {
        // If this cannot be written, the next process makes the task's last call again: too often rather than never.
        try? write(durably: false) { records in
            records.removeValue(forKey: identifier).map { _ in .over(identifier) }
        }
    }

    /// Lets other sessions have the identifier.
    func close() {
        state.withLock { $0.isClosed = true }
        lock.unlock()
    }

    private func write(
        durably: Bool, _ change: (inout [Int: JournaledTask]) -> JournalEntry?
    ) throws(FileFailure) {
        let result = state.withLock { state -> Result<Void, FileFailure> in
            guard !state.isClosed, let entry = change(&state.records) else { return .success(()) }
            state.lastIdentifier = max(state.lastIdentifier, entry.identifier)
            do {
                try state.journal.append(try entry.encoded(), durably: durably)
                // The entry is written; a journal that stays long for a while does no harm.
                try? Self.shorten(&state)
                return .success(())
            } catch {
                return .failure(FileFailure(.write, nil, error))
            }
        }
        try result.get()
    }

    /// Writes the journal anew when most of it is history.
    private static func shorten(_ state: inout State) throws {
        guard state.journal.length > slack else { return }
        var entries = [try JournalEntry.over(state.lastIdentifier).encoded()]
        for record in state.records.values.sorted(by: { $0.identifier < $1.identifier }) {
            entries.append(try JournalEntry.task(record).encoded())
        }
        let needed = entries.reduce(0) { $0 + Int64($1.count) }
        guard state.journal.length > slack + 4 * needed else { return }
        try state.journal.rewrite(entries)
    }
}

/// The folder in which background sessions keep a folder each.
struct BackgroundFolder {
    let url: URL

    /// - Parameter settings: The session's. They name a folder, or the user's data directory is used, under the name of
    ///   the shared container or of the program.
    init(_ settings: URLSessionConfiguration.Values) {
        if let chosen = settings.backgroundSessionsDirectory {
            url = chosen
            return
        }
        let owner = settings.sharedContainerIdentifier.map(Self.folderName) ?? ProcessInfo.processInfo.processName
        url = UserDirectories.data
            .appendingPathComponent(owner, isDirectory: true)
            .appendingPathComponent("BackgroundSessions", isDirectory: true)
    }

    /// Makes the folder of the session with this identifier, for its owner only.
    func prepare(for identifier: String) throws(FileFailure) -> URL {
        let folder = url.appendingPathComponent(Self.folderName(identifier), isDirectory: true)
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileFailure(.create, folder, error)
        }
        return folder
    }

    /// The identifier as one path component, different for different identifiers: letters, digits, "-" and "_" stand
    /// for themselves, "." too unless it comes first, everything else is percent-encoded; what would be too long is
    /// named by its digest.
    static func folderName(_ identifier: String) -> String {
        var name = ""
        for byte in identifier.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !name.isEmpty:
                name += "."
            default:
                name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        // "%" alone stands for no byte, so no other identifier has these two names.
        if name.isEmpty { return "%" }
        guard name.utf8.count <= 200 else { return "%" + Data(identifier.utf8).sha256 }
        return name
    }
}
