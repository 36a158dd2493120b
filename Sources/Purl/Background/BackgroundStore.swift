import Foundation
internal import PurlIO
import Synchronization

/// The folder of a background session: its lock, its journal and its partial files.
///
/// Safe from any thread. A change has been written to the journal when its call returns, so that a kill of the process
/// does not lose it; it costs what its own task's entry costs, however many tasks there are. Only a durable change waits
/// for the disk, or for another call that does. None of the calls calls back, nor takes a lock of a task or a session.
final class BackgroundStore: Sendable {
    /// Runs a call soon, on another thread.
    typealias Schedule = @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Turns an entry into the bytes of a line.
    typealias Encode = @Sendable (JournalEntry) throws -> Data

    /// Where the session's partial files lie.
    let partials: PartialsFolder
    /// The tasks that an earlier process left, oldest first.
    let restored: [JournaledTask]
    /// The highest identifier a task has had: programs may call files after them, so none is given twice.
    let lastIdentifier: Int
    /// Held for as long as the session lives; the system releases it when the process ends, however it ends.
    private let lock: any OpenFile
    private let schedule: Schedule
    private let encode: Encode
    private let state: Mutex<State>

    /// Whether a power loss could return the journal's name to the file that had it before.
    private enum JournalName {
        case safe, moved
    }

    /// Held while something waits for the disk: durable changes, and a journal that takes its predecessor's name. It is
    /// taken before ``state``, which is never held meanwhile.
    private let journalName = Mutex(JournalName.safe)

    /// Opens the store of a session with these settings.
    static func open(_ settings: BackgroundSettings) -> Result<BackgroundStore, SessionRefusal> {
        Result { () throws(SessionRefusal) in try BackgroundStore(settings) }
    }

    /// - Parameters:
    ///   - schedule: Runs the compactions of the journal.
    ///   - encode: Encodes its entries.
    init(
        _ settings: BackgroundSettings,
        schedule: @escaping Schedule = { Worker.shared.run(on: .files, $0) },
        encode: @escaping Encode = { try $0.encoded() }
    ) throws(SessionRefusal) {
        let files = settings.files
        let folder = try BackgroundFolder(settings).prepare(for: settings.identifier, files)
        let lock: (any OpenFile)?
        do { lock = try BackgroundFolder.lock(folder, files) } catch { throw .file(error) }
        guard let lock else { throw .inUse(identifier: settings.identifier) }
        // Only now: opening the journal removes its successor, which another session may be writing.
        let journal: Journal
        var lines: [Data] = []
        do { journal = try Journal(in: folder, files: files, entries: &lines) } catch { throw .file(error) }
        self.lock = lock
        self.schedule = schedule
        self.encode = encode
        partials = PartialsFolder(
            settings.partialsFolder ?? folder.appendingPathComponent("Partials", isDirectory: true),
            files: files)
        if journal.length == 0 { Self.secureNames(of: folder, partials) }
        let tasks = Self.tasks(in: lines)
        restored = tasks.kept.values.map(\.record).sorted { $0.identifier < $1.identifier }
        lastIdentifier = tasks.lastIdentifier
        state = Mutex(State(journal: journal, tasks.kept, lastIdentifier: tasks.lastIdentifier))
        partials.removeUnclaimed(except: Set(restored.compactMap(\.partialName)))
        // A journal that was left too long might have no room for another line.
        if state.withLock({ $0.startsCompaction() }) { schedule { self.compact() } }
    }

    /// Brings a new folder's names to the disk before anything in it counts. A disk that cannot do that fails again
    /// when bytes are synchronised.
    private static func secureNames(of folder: URL, _ partials: PartialsFolder) {
        try? partials.prepare()
        for place in [folder, folder.deletingLastPathComponent(), partials.url.deletingLastPathComponent()] {
            try? partials.files.synchronizeFolder(place.path)
        }
    }

    /// The tasks that were not over, and the highest identifier of any.
    private static func tasks(in lines: [Data]) -> (kept: [Int: State.Kept], lastIdentifier: Int) {
        var kept: [Int: State.Kept] = [:]
        var lastIdentifier = 0
        // The tasks that another one has replaced. They are over, also when that one is.
        var replaced: Set<Int> = []
        for line in lines {
            guard let entry = JournalEntry(decoding: line) else { continue }
            lastIdentifier = max(lastIdentifier, entry.identifier)
            switch entry {
            case .task(let record):
                if let old = record.replaces, kept[old]?.record.ending != nil {
                    kept[old] = nil
                    replaced.insert(old)
                }
                guard !replaced.contains(record.identifier) else { continue }
                kept[record.identifier] = record.checked().map {
                    State.Kept(record: $0, lineLength: Journal.lineLength(of: line))
                }
            case .over(let identifier): kept[identifier] = nil
            }
        }
        giveEachFileOneTask(&kept)
        return (kept, lastIdentifier)
    }

    /// Several tasks name one partial file where a program has made tasks from the resume data of another. One of them has it: a
    /// download that is complete, or else the newest that has not ended.
    private static func giveEachFileOneTask(_ kept: inout [Int: State.Kept]) {
        let named = Dictionary(grouping: kept.values.map(\.record).filter { $0.partialName != nil }, by: \.partialName)
        for sharing in named.values where sharing.count > 1 {
            let newestFirst = sharing.sorted { $0.identifier > $1.identifier }
            let complete = newestFirst.first { $0.finished != nil }
            let owner = complete ?? newestFirst.first { $0.ending == nil } ?? newestFirst[0]
            for record in sharing where record.identifier != owner.identifier {
                kept[record.identifier]?.record = record.withoutFile
            }
        }
    }

    // MARK: Writing

    /// Keeps a new task, or nothing of it when its entry cannot be written.
    func add(_ record: JournaledTask) throws(FileFailure) {
        var record = record
        record.replaces = state.withLock { $0.endedTask(resumedBy: record) }
        do {
            try write(record.identifier) { _ in record }
        } catch {
            state.withLock { $0.forget(record.identifier) }
            throw error
        }
    }

    /// Changes what is kept of a task; nothing happens when none is kept. What cannot be written is written with the
    /// task's next change.
    func update(_ identifier: Int, _ change: (inout JournaledTask) -> Void) throws(FileFailure) {
        try write(identifier) { Self.changed($0, change) }
    }

    /// Changes what is kept of a task, and returns when the change would survive a power loss: what follows it may
    /// happen then.
    func updateDurably(_ identifier: Int, _ change: (inout JournaledTask) -> Void) throws(FileFailure) {
        var effect = State.Effect.nothing
        defer { compactSoon(after: effect) }
        try journalName.withLock { (name) throws(FileFailure) in
            let file: JournalFile
            (effect, file) = try state.withLock { (state) throws(FileFailure) in
                (try state.write(identifier, encode) { Self.changed($0, change) }, state.journal.file)
            }
            guard effect != .nothing else { return }
            // No other file can take the journal's name meanwhile.
            if name == .moved {
                try file.synchronizeName()
                name = .safe
            }
            try file.synchronize()
        }
    }

    private static func changed(
        _ record: JournaledTask?, _ change: (inout JournaledTask) -> Void
    ) -> JournaledTask? {
        guard var record else { return nil }
        change(&record)
        return record
    }

    /// Forgets a task whose last call has been delivered.
    func remove(_ identifier: Int) {
        // If this cannot be written, the next process makes the task's last call again: too often rather than never.
        try? write(identifier) { _ in nil }
    }

    /// Unlocks the folder: another session may have the identifier from now on.
    func close() {
        state.withLock { $0.close() }
        lock.unlock()
    }

    private func write(_ identifier: Int, _ change: (JournaledTask?) -> JournaledTask?) throws(FileFailure) {
        let effect = try state.withLock { (state) throws(FileFailure) in
            try state.write(identifier, encode, change)
        }
        compactSoon(after: effect)
    }

    // MARK: Compaction

    private func compactSoon(after effect: State.Effect) {
        switch effect {
        case .nothing, .written: break
        case .writtenLeavingMuchHistory: schedule { self.compact() }
        }
    }

    /// Replaces the journal by one without history, while changes continue to be written.
    private func compact() {
        repeat {
            // The journal is whole at any moment, and one that stays long for a while does no harm.
            try? replaceJournal()
        } while state.withLock { $0.endCompaction() }
    }

    private func replaceJournal() throws {
        guard let (prepared, identifiers) = try state.withLock({ try $0.beginCompaction() }) else { return }
        var successor = prepared
        try successor.append([encode(.over(state.withLock { $0.lastIdentifier }))])
        for start in stride(from: 0, to: identifiers.count, by: Self.batch) {
            let batch = identifiers[start..<min(start + Self.batch, identifiers.count)]
            let records = state.withLock { state in batch.compactMap { state.tasks[$0]?.record } }
            try successor.append(records.map { try encode(.task($0)) })
        }
        let needed = successor.length
        try journalName.withLock { name in
            guard try appendMissingLines(to: &successor) else { return }
            // No durable change is written before this ends: what follows in the file need not be safe.
            try successor.file.synchronize()
            guard try appendMissingLines(to: &successor),
                try state.withLock({ try $0.completeCompaction(&successor, needed: needed) })
            else { return }
            name = .moved
            try state.withLock { $0.journal.file }.synchronizeName()
            name = .safe
        }
    }

    /// Lets a successor catch up with the journal, but for a few lines; false when it was dropped.
    private func appendMissingLines(to successor: inout JournalSuccessor) throws -> Bool {
        while let missing = state.withLock({ $0.journal.takeMissingLines() }) {
            try successor.append(lines: missing)
            if missing.count < Self.fewLines { return true }
        }
        return false
    }

    /// How many tasks are encoded at a time.
    private static let batch = 64
    /// How many bytes are few enough to be written while every change waits.
    private static let fewLines = 1 << 16
}

extension BackgroundStore {
    /// The journal, and what it holds.
    private struct State {
        /// A task as its latest line describes it, and the length of that line.
        struct Kept {
            var record: JournaledTask
            var lineLength: Int64
        }

        /// What a change has written to the journal.
        enum Effect {
            case nothing
            case written
            /// It was written, and most of the journal is history.
            case writtenLeavingMuchHistory
        }

        private enum Phase {
            case open, compacting, closed
        }

        /// What the journal may hold of history, in bytes, however short the state of its tasks is.
        private static let slack: Int64 = 1 << 18

        var journal: Journal
        private(set) var tasks: [Int: Kept]
        private(set) var lastIdentifier: Int
        private var phase = Phase.open
        /// The sum of the lengths of each task's latest line.
        private var liveLength: Int64
        /// How long the journal was after the last compaction, without what was written meanwhile.
        private var compactedLength: Int64 = 0

        init(journal: Journal, _ tasks: [Int: Kept], lastIdentifier: Int) {
            self.journal = journal
            self.tasks = tasks
            self.lastIdentifier = lastIdentifier
            liveLength = tasks.values.reduce(0) { $0 + $1.lineLength }
        }

        /// Changes what is kept of a task, `nil` for nothing, and writes it.
        mutating func write(
            _ identifier: Int, _ encode: Encode, _ change: (JournaledTask?) -> JournaledTask?
        ) throws(FileFailure) -> Effect {
            let old = tasks[identifier]
            let new = change(old?.record)
            guard phase != .closed, new != old?.record else { return .nothing }
            lastIdentifier = max(lastIdentifier, identifier)
            // Kept also when it cannot be written: the task's next line holds all of its state.
            if let new {
                tasks[identifier, default: Kept(record: new, lineLength: 0)].record = new
            } else {
                forget(identifier)
            }
            let entry: Data
            do {
                entry = try encode(new.map { .task($0) } ?? .over(identifier))
            } catch {
                throw FileFailure(.write, nil, error)
            }
            try journal.append(entry)
            if new != nil {
                let lineLength = Journal.lineLength(of: entry)
                liveLength += lineLength - (old?.lineLength ?? 0)
                tasks[identifier]?.lineLength = lineLength
            }
            return startsCompaction() ? .writtenLeavingMuchHistory : .written
        }

        /// Returns true, once, when most of the journal describes earlier states of tasks: it is to be compacted.
        mutating func startsCompaction() -> Bool {
            guard phase == .open, holdsMuchHistory else { return false }
            phase = .compacting
            return true
        }

        /// Forgets a task: its lines are history.
        mutating func forget(_ identifier: Int) {
            liveLength -= tasks.removeValue(forKey: identifier)?.lineLength ?? 0
        }

        /// The newest task that has ended, though its last call has not returned, and that has the partial file or the upload
        /// resource of the record.
        func endedTask(resumedBy record: JournaledTask) -> Int? {
            guard record.partialName != nil || record.upload != nil else { return nil }
            return tasks.values.map(\.record).filter { old in
                old.ending != nil && old.partialName == record.partialName
                    && old.upload?.resource == record.upload?.resource
            }.map(\.identifier).max()
        }

        mutating func close() {
            phase = .closed
            journal.dropSuccessor()
        }

        // MARK: Compaction

        /// Whether there is more history than there is need for: a compaction then writes no more than was written since
        /// the last one.
        private var holdsMuchHistory: Bool {
            journal.length - liveLength > Self.slack + min(liveLength, Journal.maximumSize / 4)
                && journal.length - compactedLength > Self.slack
        }

        /// Prepares a successor of the journal; returns it, and the tasks that it is to hold. `nil` when the store is
        /// closed.
        mutating func beginCompaction() throws(SystemError) -> (JournalSuccessor, identifiers: [Int])? {
            guard phase == .compacting else { return nil }
            // If this fails, it is tried again when as much has been written.
            compactedLength = journal.length
            return (try journal.prepareSuccessor(), tasks.keys.sorted())
        }

        /// Lets a successor become the journal; false when the store was closed.
        mutating func completeCompaction(
            _ successor: inout JournalSuccessor, needed: Int64
        ) throws(SystemError) -> Bool {
            guard try journal.complete(&successor) else { return false }
            compactedLength = needed
            return true
        }

        /// Ends a compaction, whatever its outcome; true when the next one is to begin at once.
        mutating func endCompaction() -> Bool {
            guard phase == .compacting else { return false }
            journal.dropSuccessor()
            if holdsMuchHistory { return true }
            phase = .open
            return false
        }
    }
}
