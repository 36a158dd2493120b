import Foundation
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The size of a journal", .timeLimit(.minutes(5)))
struct JournalGrowthTests {
    /// The largest size in bytes for tasks with little state: the allowed history, and one entry.
    private static let bound = 300_000

    private let home = BackgroundHome()

    private func store(_ files: any FileLayer) throws -> BackgroundStore {
        try home.store(files)
    }

    private func record(_ number: Int) throws -> JournaledTask {
        try home.record(number)
    }

    @Test("Thousands of changes keep the journal small")
    func manyChanges() throws {
        let files = MemoryFiles()
        let store = try store(files)
        for number in 1...3 { try store.add(record(number)) }
        var longest = 0
        for number in 1...4000 {
            try store.update(1 + number % 3) { $0.taskDescription = "change \(number)" }
            longest = max(longest, files.contents(home.journal.path)?.count ?? 0)
        }
        #expect(longest < Self.bound)
        store.close()
        let again = try self.store(files)
        #expect(again.restored.map(\.taskDescription) == ["change 3999", "change 4000", "change 3998"])
        #expect(files.contents(home.journal.path + ".new") == nil)
    }

    @Test("Thousands of completed tasks keep the journal small")
    func manyTasks() throws {
        let files = MemoryFiles()
        let store = try store(files)
        var longest = 0
        for number in 1...2000 {
            try store.add(record(number))
            store.remove(number)
            longest = max(longest, files.contents(home.journal.path)?.count ?? 0)
        }
        #expect(longest < Self.bound)
        store.close()
        let again = try self.store(files)
        #expect(again.restored == [])
        #expect(again.lastIdentifier == 2000)
    }

    @Test("A task that is changed thousands of times through its session keeps the journal small")
    func oneTask() async throws {
        let session = home.makeSession()
        let task = session.downloadTask(with: try #require(URL(string: "http://127.0.0.1:9/")))
        for number in 1...1500 {
            task.taskDescription = "\(number) \(String(repeating: "x", count: 200))"
            task.priority = Float(number % 10) / 10
        }
        task.taskDescription = "the last"
        try await FolderChanges.wait(in: home.session) { try Data(contentsOf: home.journal).count < Self.bound }
        let after = try home.afterCrash()
        let launch = await Launch(after)
        #expect(launch.tasks.map(\.taskDescription) == ["the last"])
    }

    @Test("A power loss at any point of a rewrite leaves every task in a state it had")
    func powerLoss() async throws {
        let files = RecordingFiles(over: home)
        let store = try store(files)
        for number in 1...3 { try store.add(record(number)) }
        try store.updateDurably(3) { $0.isRunning = true }
        var history = Set<String>()
        for number in 0..<200 {
            let text = "\(number) \(String(repeating: "x", count: 2000))"
            history.insert(text)
            try store.update(1 + number % 2) { $0.taskDescription = text }
        }
        store.close()
        let calls = files.calls
        let move = try #require(calls.firstIndex { if case .move = $0 { true } else { false } })
        #expect(calls.count { if case .move = $0 { true } else { false } } == 1)
        var disk = files.disk(after: move - 6)
        for index in (move - 6)..<min(move + 6, calls.count) {
            disk.apply(calls[index])
            var seen: Set<[String: Data]> = []
            for loss in RecordedDisk.Loss.allCases {
                for losesNames in [false, true] {
                    let left = disk.survivors(journal: loss, partials: loss, losesNames: losesNames)
                    guard seen.insert(left).inserted else { continue }
                    await Task.yield()
                    let after = try self.store(MemoryFiles(left))
                    #expect(after.restored.map(\.identifier) == [1, 2, 3])
                    #expect(after.restored.last?.isRunning == true)
                    for record in after.restored {
                        #expect(record.taskDescription.map { history.contains($0) } ?? true)
                    }
                    after.close()
                }
            }
        }
    }

    @Test("Leftovers of an earlier rewrite do not prevent the next one", arguments: [false, true])
    func leftovers(isFolder: Bool) async throws {
        let killed = try await KilledDownload()
        let fresh = URL(fileURLWithPath: killed.home.journal.path + ".new")
        if isFolder {
            try FileManager.default.createDirectory(at: fresh, withIntermediateDirectories: false)
        } else {
            try Data("{\"task\":".utf8).write(to: fresh)
        }
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.tasks.first)
        for number in 0..<400 { task.taskDescription = "\(number)\(String(repeating: "x", count: 1000))" }
        await launch.witness.completion()
        #expect(launch.witness.hasFile(of: task, KilledDownload.content))
    }

    // MARK: A full disk

    @Test("A task that cannot be entered in the journal fails with a file error")
    func fullDisk() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(size: 1000))
        let isFull = Mutex(true)
        let files = RecordingFiles(
            over: home,
            failing: { call in
                if case .write = call { isFull.withLock { $0 } } else { false }
            })
        let witness = Witness()
        let session = home.makeSession(witness, through: files)
        let task = session.downloadTask(with: url).resumed()
        await witness.completion()
        expectError(witness.error(of: task), .cannotWriteToFile, about: url)
        #expect(posixCode(witness.error(of: task)) == Int(ENOSPC))
        #expect(server.requests.isEmpty)
        // The next task finds space.
        isFull.withLock { $0 = false }
        let next = session.downloadTask(with: url).resumed()
        await witness.completion(of: 2)
        #expect(witness.file(of: next)?.count == 1000)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        #expect(home.partialNames == [])
    }

    @Test("A journal change that could not be written is written with the next one")
    func lostChange() throws {
        let isFull = Mutex(false)
        let files = RecordingFiles(
            over: home,
            failing: { call in
                if case .write = call { isFull.withLock { $0 } } else { false }
            })
        let store = try store(files)
        try store.add(record(1))
        isFull.withLock { $0 = true }
        #expect(throws: FileFailure.self) { try store.update(1) { $0.taskDescription = "lost?" } }
        isFull.withLock { $0 = false }
        try store.update(1) { $0.priority = 1 }
        store.close()
        let again = try self.store(SystemFiles())
        #expect(again.restored.map(\.taskDescription) == ["lost?"])
        #expect(again.restored.map(\.priority) == [1])
        again.close()
    }
}
