import Foundation
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The work of a journal's changes", .timeLimit(.minutes(5)))
struct JournalCompactionTests {
    private let home = BackgroundHome()

    /// How many entries a store has encoded.
    private final class Encodings: Sendable {
        private let state = Mutex(0)

        var count: Int { state.withLock { $0 } }

        func encode(_ entry: JournalEntry) throws -> Data {
            state.withLock { $0 += 1 }
            return try entry.encoded()
        }
    }

    /// Keeps the compaction that a store asks for.
    private final class HeldCompaction: Sendable {
        private let job = Mutex<(@Sendable () -> Void)?>(nil)

        func hold(_ job: @escaping @Sendable () -> Void) {
            self.job.withLock { $0 = job }
        }

        /// Runs it; false when none has been asked for.
        func run() -> Bool {
            let job = job.withLock { job in
                defer { job = nil }
                return job
            }
            job?()
            return job != nil
        }
    }

    /// Numbers with the same count of digits, so that their lines have the same length.
    private static let identifiers = 1001...1800

    @Test("A change encodes and writes its own entry alone, be it the first or the eight-hundredth")
    func constantWork() throws {
        let files = RecordingFiles(over: home)
        let encodings = Encodings()
        let compaction = HeldCompaction()
        let store = try home.store(
            files, schedule: { compaction.hold($0) }, encode: { try encodings.encode($0) })
        let before = files.calls.count
        for number in Self.identifiers { try store.add(home.record(number)) }
        for number in Self.identifiers { try store.update(number) { $0.isRunning = true } }
        for number in Self.identifiers { store.remove(number) }
        #expect(encodings.count == 3 * Self.identifiers.count)
        let lengths = files.calls.dropFirst(before).map { call in
            if case .write(_, _, let bytes) = call { bytes.count } else { -1 }
        }
        #expect(lengths.count == 3 * Self.identifiers.count)
        for start in stride(from: 0, to: lengths.count, by: Self.identifiers.count) {
            #expect(Set(lengths[start..<(start + Self.identifiers.count)]).count == 1)
        }
        // No compaction ran, though one was asked for.
        #expect(compaction.run())
        store.close()
    }

    @Test("Compactions encode no more entries than the changes did")
    func amortisedWork() throws {
        let encodings = Encodings()
        let store = try home.store(MemoryFiles(), encode: { try encodings.encode($0) })
        for number in Self.identifiers { try store.add(home.record(number)) }
        // Nothing is history yet.
        #expect(encodings.count == Self.identifiers.count)
        for round in 1...5 {
            for number in Self.identifiers { try store.update(number) { $0.priority = Float(round) / 10 } }
        }
        let changes = 6 * Self.identifiers.count
        #expect(encodings.count > changes)
        #expect(encodings.count <= 2 * changes)
        store.close()
    }

    /// Another process that wants the session's identifier again and again.
    private final class Rival: Sendable {
        private let home: BackgroundHome
        private let refusals = Mutex<Int?>(nil)

        init(_ home: BackgroundHome) { self.home = home }

        var count: Int { refusals.withLock { $0 ?? 0 } }

        func begin() { refusals.withLock { $0 = 0 } }

        func encode(_ entry: JournalEntry) throws -> Data {
            refusals.withLock { count in
                guard count != nil else { return }
                #expect(throws: SessionRefusal.self) { try home.store(SystemFiles()).close() }
                count? += 1
            }
            return try entry.encoded()
        }
    }

    @Test("A session that is refused since the identifier is in use holds up no compaction")
    func refusedSession() throws {
        let compaction = HeldCompaction()
        let rival = Rival(home)
        let store = try home.store(
            SystemFiles(), schedule: { compaction.hold($0) }, encode: { try rival.encode($0) })
        for number in Self.identifiers { try store.add(home.record(number)) }
        for number in Self.identifiers { try store.update(number) { $0.isRunning = true } }
        for number in Self.identifiers.dropLast(10) { store.remove(number) }
        let length = try Data(contentsOf: home.journal).count
        rival.begin()
        #expect(compaction.run())
        #expect(rival.count == 11)
        #expect(try Data(contentsOf: home.journal).count < length / 10)
        store.close()
        let again = try home.store(SystemFiles())
        #expect(again.restored.map(\.identifier) == Array(Self.identifiers.suffix(10)))
        again.close()
    }

    /// Changes tasks at the calls to the file layer that a compaction makes while changes are not held up.
    private final class ChangingFiles: Sendable {
        struct Promise: Sendable {
            /// How many calls had been made to the file layer when the change was written.
            let calls: Int
            let identifier: Int
            let number: Int
            let isDurable: Bool
        }

        private enum Phase {
            /// Before a compaction, and during a change: what is called then is not the compaction's.
            case idle
            case copying, catchingUp, synchronised, done
        }

        private struct State {
            var phase = Phase.idle
            var number = 0
            var store: BackgroundStore?
            var files: RecordingFiles?
            var promises: [Promise] = []
        }

        private let state = Mutex(State())

        var promises: [Promise] { state.withLock { $0.promises } }

        func use(_ store: BackgroundStore?, _ files: RecordingFiles?) {
            state.withLock { ($0.store, $0.files) = (store, files) }
        }

        /// Runs a compaction.
        func run(_ job: @Sendable () -> Void) {
            state.withLock { $0.phase = $0.promises.isEmpty ? .copying : .done }
            job()
            state.withLock { $0.phase = .done }
        }

        func callIsMade(_ call: FileCall) {
            let (phase, store, files) = state.withLock { state in
                defer { state.phase = .idle }
                return (state.phase, state.store, state.files)
            }
            guard let store, let files else { return state.withLock { $0.phase = phase } }
            var next = phase
            switch (phase, call) {
            case (.copying, .write):
                change(store, files, durably: true)
                change(store, files, durably: false)
                if isLastBatch(of: call) { next = .catchingUp }
            case (.catchingUp, .write):
                change(store, files, durably: false)
            case (.catchingUp, .synchronize):
                change(store, files, durably: false)
                next = .synchronised
            case (.synchronised, .write):
                // This one is written while changes are held up.
                change(store, files, durably: false)
                next = .done
            default: break
            }
            state.withLock { $0.phase = next }
        }

        private func isLastBatch(of call: FileCall) -> Bool {
            guard case .write(_, _, let bytes) = call else { return false }
            return JournalText.records(in: bytes)[JournalCompactionTests.tasks.upperBound] != nil
        }

        private func change(_ store: BackgroundStore, _ files: RecordingFiles, durably: Bool) {
            let number = state.withLock { state in
                state.number += 1
                return state.number
            }
            let identifier = JournalCompactionTests.tasks.lowerBound + number * 7 % JournalCompactionTests.tasks.count
            let change: (inout JournaledTask) -> Void = { $0.taskDescription = "\(number)" }
            do {
                if durably { try store.updateDurably(identifier, change) } else { try store.update(identifier, change) }
            } catch {
                Issue.record(error)
            }
            let promise = Promise(
                calls: files.calls.count, identifier: identifier, number: number, isDurable: durably)
            state.withLock { $0.promises.append(promise) }
        }
    }

    /// More than are encoded at a time.
    fileprivate static let tasks = 1...200

    @Test("A crash at any point of a compaction loses no change, and a power loss no durable one")
    func changesDuringCompaction() async throws {
        let changes = ChangingFiles()
        let files = RecordingFiles(
            over: home,
            failing: { call in
                changes.callIsMade(call)
                return false
            })
        let store = try home.store(files, schedule: { changes.run($0) })
        changes.use(store, files)
        for number in Self.tasks {
            var record = try home.record(number)
            // Zero, and long, so that there are few lines to read.
            record.taskDescription = String(repeating: "0", count: 1000)
            try store.add(record)
        }
        var round = 0
        while changes.promises.isEmpty {
            round += 1
            for number in Self.tasks { try store.update(number) { $0.priority = Float(round) / 1000 } }
        }
        changes.use(nil, nil)
        store.close()
        let promises = changes.promises
        #expect(promises.count { $0.isDurable } == 5)
        #expect(promises.count { !$0.isDurable } == 8)
        let calls = files.calls
        let move = try #require(calls.firstIndex { if case .move = $0 { true } else { false } })
        let first = try #require(promises.first).calls
        #expect(try #require(promises.last).calls <= move)
        var disk = files.disk(after: first - 1)
        var known: [Data: [Int: JournaledTask]] = [:]
        for index in (first - 1)..<min(move + 4, calls.count) {
            disk.apply(calls[index])
            let made = promises.filter { $0.calls <= index + 1 }
            check(disk, made, journal: .none, losesNames: false, &known)
            for loss in RecordedDisk.Loss.allCases {
                for losesNames in [false, true] {
                    check(disk, made.filter(\.isDurable), journal: loss, losesNames: losesNames, &known)
                }
            }
            await Task.yield()
        }
    }

    /// - Parameter known: The records in journals that have been read.
    private func check(
        _ disk: RecordedDisk, _ promises: [ChangingFiles.Promise], journal: RecordedDisk.Loss, losesNames: Bool,
        _ known: inout [Data: [Int: JournaledTask]]
    ) {
        let left = disk.survivors(journal: journal, partials: .none, losesNames: losesNames)
        let bytes = left[home.journal.path] ?? Data()
        let records = known[bytes] ?? JournalText.records(in: bytes)
        known[bytes] = records
        for promise in promises {
            let found = records[promise.identifier]?.taskDescription.flatMap { Int($0) } ?? 0
            #expect(found >= promise.number)
        }
        if journal == .none { #expect(records.count == Self.tasks.count) }
    }

    @Test("A store that is closed in the middle of a compaction leaves the folder to the next one", arguments: 0...6)
    func closedDuringCompaction(after count: Int) throws {
        let rest = Mutex<Int?>(nil)
        let first = Mutex<BackgroundStore?>(nil)
        let second = Mutex<BackgroundStore?>(nil)
        let files = RecordingFiles(
            over: home,
            failing: { [home] call in
                guard case .write = call else { return false }
                let isDue = rest.withLock { rest in
                    if let count = rest { rest = count > 0 ? count - 1 : nil }
                    return rest == 0
                }
                guard isDue, let store = first.withLock({ $0 }) else { return false }
                store.close()
                second.withLock { $0 = try? home.store(SystemFiles()) }
                return false
            })
        let compaction = HeldCompaction()
        let store = try home.store(files, schedule: { compaction.hold($0) })
        first.withLock { $0 = store }
        for number in Self.tasks { try store.add(home.record(number)) }
        for round in 1...10 {
            for number in Self.tasks { try store.update(number) { $0.priority = Float(round) / 100 } }
        }
        if count == 0 {
            store.close()
            second.withLock { $0 = try? home.store(SystemFiles()) }
        } else {
            rest.withLock { $0 = count }
        }
        #expect(compaction.run())
        store.close()
        let next = try second.withLock { $0 } ?? home.store(SystemFiles())
        #expect(next.restored.map(\.priority) == Self.tasks.map { _ in 0.1 })
        try next.add(home.record(999))
        next.close()
        #expect(try home.records.count == Self.tasks.count + 1)
        #expect(!FileManager.default.fileExists(atPath: home.journal.path + ".new"))
    }

    @Test("A compaction that fails is tried again when as much has been written", arguments: [false, true])
    func failedCompaction(isMove: Bool) throws {
        let failures = Mutex(0)
        let files = RecordingFiles(
            over: home,
            failing: { call in
                switch call {
                case .move: isMove
                case .synchronize: !isMove
                case .open, .write, .truncate, .remove, .synchronizeFolder: false
                }
            })
        let store = try home.store(
            files,
            schedule: { job in
                failures.withLock { $0 += 1 }
                job()
            })
        try store.add(home.record(1))
        var written = 0
        while written < 1_000_000 {
            try store.update(1) { $0.taskDescription = "\(written) \(String(repeating: "x", count: 2000))" }
            written += 2000
        }
        #expect((2...4).contains(failures.withLock { $0 }))
        store.close()
        #expect(try home.store(SystemFiles()).restored.first?.taskDescription?.hasPrefix("998000 ") == true)
        #expect(!FileManager.default.fileExists(atPath: home.journal.path + ".new"))
    }

    @Test("A journal without room for another line fails the new task, until it has been compacted")
    func noRoom() throws {
        let history = Data(count: Int(Journal.maximumSize) - 10) + Data("\n".utf8)
        let compaction = HeldCompaction()
        let store = try home.store(
            MemoryFiles([home.journal.path: history]), schedule: { compaction.hold($0) })
        let failure = #expect(throws: FileFailure.self) { try store.add(home.record(1)) }
        #expect((failure?.underlying as? SystemError)?.code == EFBIG)
        #expect(compaction.run())
        try store.add(home.record(1))
        store.close()
    }

    @Test("Tasks and changes are kept when the process is killed as soon as their calls have returned")
    func killedProcess() async throws {
        let folder = home.folder
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as URL] in
            let configuration = URLSessionConfiguration.background(withIdentifier: BackgroundHome.identifier)
            configuration.backgroundSessionsDirectory = folder
            let session = URLSession(configuration: configuration)
            let url = try #require(URL(string: "http://127.0.0.1:9/"))
            let tasks = (1...500).map { _ in session.downloadTask(with: url) }
            for round in 1...5 {
                for task in tasks { task.taskDescription = "\(round)" }
            }
            _ = session.downloadTask(with: url)
            kill(getpid(), SIGKILL)
        }
        let launch = await Launch(home)
        #expect(launch.tasks.map(\.taskDescription) == (1...500).map { _ in "5" } + [nil])
    }
}
