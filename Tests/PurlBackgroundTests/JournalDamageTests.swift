import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A journal with damaged bytes", .timeLimit(.minutes(5)))
struct JournalDamageTests {
    private let home = BackgroundHome()
    /// A journal with three tasks of several entries each, one of which has completed.
    private let journal: Data
    /// Every state of each task, oldest first.
    private let history: [Int: [JournaledTask]]
    private let final: [Int: JournaledTask]

    init() throws {
        let files = MemoryFiles()
        let store = try Self.store(home, files)
        for number in 1...4 { try store.add(Self.record(number)) }
        try store.update(2) { $0.taskDescription = "the second, ü" }
        try store.update(3) { $0.resume = Self.resume() }
        store.remove(4)
        try store.update(1) { $0.isRunning = true }
        store.close()
        journal = try #require(files.contents(home.journal.path))
        final = JournalText.records(in: journal)
        history = JournalText.entries(in: journal).reduce(into: [:]) { history, entry in
            if case .task(let record) = entry { history[record.identifier, default: []].append(record) }
        }
    }

    private static func store(_ home: BackgroundHome, _ files: MemoryFiles) throws -> BackgroundStore {
        var settings = home.configuration().snapshot
        settings.files = files
        return try BackgroundStore(try #require(settings.background))
    }

    private static func request(_ path: String) -> StoredRequest {
        StoredRequest(URLRequest(url: URL(string: "http://127.0.0.1/\(path)") ?? URL(fileURLWithPath: "/")))
    }

    private static func record(_ number: Int) -> JournaledTask {
        JournaledTask(identifier: number, priority: 0.5, originalRequest: request("\(number)"))
    }

    private static func resume() -> ResumeData {
        ResumeData(
            originalRequest: request("3"), currentRequest: request("3"),
            partialName: "purl-00000000-0000-0000-0000-000000000003.partial", bytesReceived: 10, totalBytes: 20,
            validator: "\"v1\"", tailDigest: String(repeating: "0", count: 64))
    }

    /// Opens a journal of these bytes, adds a task, and opens it again.
    ///
    /// - Parameter damaged: Where the bytes are not those of ``journal``.
    private func check(_ bytes: Data, damaged: Range<Int>) async throws {
        // Thousands of these run in a row: let other tests run in between.
        await Task.yield()
        let files = MemoryFiles([home.journal.path: bytes])
        let store = try Self.store(home, files)
        let found = store.restored
        #expect(found.map(\.identifier) == found.map(\.identifier).sorted())
        for record in found {
            #expect(history[record.identifier]?.contains(record) == true, "an entry that was not written, \(damaged)")
        }
        for identifier in final.keys where !touches(identifier, damaged) {
            #expect(found.first { $0.identifier == identifier } == final[identifier], "task \(identifier), \(damaged)")
        }
        // What was found stays after more is written.
        try store.add(Self.record(99))
        try store.update(99) { $0.isRunning = true }
        store.close()
        let again = try Self.store(home, files)
        #expect(again.restored.filter { $0.identifier != 99 } == found, "\(damaged)")
        #expect(again.restored.last?.isRunning == true && again.restored.last?.identifier == 99, "\(damaged)")
        again.close()
    }

    /// Whether the damage overlaps a line of the task, including its line break and the one before it.
    private func touches(_ identifier: Int, _ damaged: Range<Int>) -> Bool {
        var start = 0
        for line in journal.split(separator: UInt8(ascii: "\n")) {
            let range = (start - 1)..<(start + line.count + 1)
            start += line.count + 1
            guard range.overlaps(damaged), let entry = JournalText.entries(in: Data(line)).first else { continue }
            switch entry {
            case .task(let record) where record.identifier == identifier: return true
            case .over(identifier): return true
            case .task, .over: continue
            }
        }
        return false
    }

    @Test("An undamaged journal holds what was written")
    func undamaged() async throws {
        #expect(final.keys.sorted() == [1, 2, 3])
        try await check(journal, damaged: journal.count..<journal.count)
    }

    enum Damage: CaseIterable, Sendable {
        case lowBit, highBit, letterCase, zero, lineBreak

        func apply(to byte: UInt8) -> UInt8 {
            switch self {
            case .lowBit: byte ^ 0x01
            case .highBit: byte ^ 0x80
            case .letterCase: byte ^ 0x20
            case .zero: 0
            case .lineBreak: UInt8(ascii: "\n")
            }
        }
    }

    @Test("A damaged byte loses the entry it belongs to, and no other", arguments: Damage.allCases)
    func damagedByte(_ damage: Damage) async throws {
        for index in places(every: damage == .lowBit ? 5 : 23) where index < journal.count {
            var bytes = journal
            bytes[index] = damage.apply(to: bytes[index])
            try await check(bytes, damaged: index..<(index + 1))
        }
    }

    @Test("A journal cut at any length keeps the entries before the cut")
    func cut() async throws {
        for length in places(every: 5) { try await check(journal.prefix(length), damaged: length..<journal.count) }
    }

    /// Offsets around each line break, and so many in between.
    private func places(every step: Int) -> [Int] {
        (0...journal.count).filter { offset in
            let around = journal[max(0, offset - 2)..<min(journal.count, offset + 2)]
            return offset % step == 0 || around.contains(UInt8(ascii: "\n")) || offset == journal.count
        }
    }

    @Test("A journal whose end is zeros keeps the entries before them")
    func zeros() async throws {
        for length in stride(from: 0, through: journal.count, by: 29) {
            try await check(
                journal.prefix(length) + Data(count: journal.count - length), damaged: length..<journal.count)
        }
    }

    @Test("A missing line loses its own entry, and no other")
    func missingLine() async throws {
        var start = 0
        for line in journal.split(separator: UInt8(ascii: "\n")) {
            let range = start..<(start + line.count + 1)
            start = range.upperBound
            var bytes = journal
            bytes.removeSubrange(range)
            try await check(bytes, damaged: range)
        }
    }

    @Test("Repeated lines do not change the tasks")
    func doubledLines() async throws {
        let doubled = journal.split(separator: UInt8(ascii: "\n")).reduce(into: Data()) { bytes, line in
            for _ in 0..<2 { bytes += line + Data("\n".utf8) }
        }
        try await check(doubled, damaged: journal.count..<journal.count)
        try await check(journal + journal, damaged: 0..<0)
    }

    @Test("Lines in another order yield only states that were written")
    func otherOrder() async throws {
        let lines = journal.split(separator: UInt8(ascii: "\n")).map { $0 + Data("\n".utf8) }
        for first in lines.indices {
            for second in lines.indices.dropFirst(first + 1) {
                var swapped = lines
                swapped.swapAt(first, second)
                try await check(Data(swapped.joined()), damaged: 0..<journal.count)
            }
        }
        try await check(Data(lines.reversed().joined()), damaged: 0..<journal.count)
    }

    @Test(
        "Bytes that are no journal hold no task",
        arguments: [
            Data(), Data("\n".utf8), Data(repeating: UInt8(ascii: "\n"), count: 10_000), Data(count: 100_000),
            Data(repeating: 0xFF, count: 100_000), Data("0123456789abcdef \n".utf8), Data("e3b0c44298fc1c14 \n".utf8),
            Data("e3b0c44298fc1c14\n".utf8), Data(String(repeating: " ", count: 17).utf8),
        ])
    func noJournal(bytes: Data) async throws {
        try await check(bytes, damaged: 0..<journal.count)
    }

    @Test("Rubbish before, between and after the lines is ignored")
    func rubbish() async throws {
        let rubbish = Data("rubbish\n\n{\"task\":{}}\n".utf8)
        try await check(rubbish + journal + rubbish, damaged: 0..<0)
        try await check(journal + Data("0123456789abcdef {\"over\":1}".utf8), damaged: 0..<0)
        try await check(journal + Data("torn".utf8), damaged: 0..<0)
    }
}
