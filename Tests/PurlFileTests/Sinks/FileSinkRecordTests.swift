import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A sink's file and record that do not agree", .timeLimit(.minutes(5)))
struct FileSinkRecordTests {
    private static let partUnfinished = [true, false]

    /// - Parameter isUnfinished: The file has 100,000 bytes; otherwise it is complete.
    private func bench(_ kind: SinkKind, isUnfinished: Bool) async throws -> SinkBench {
        let bench = try SinkBench(kind)
        if isUnfinished { await bench.writeTheBeginning() } else { await bench.writeTheWhole() }
        return bench
    }

    private func expectStartingOver(_ bench: SinkBench) async {
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.ranges == [nil])
        #expect(bench.bytes == bench.content.data)
        // The next load succeeds.
        await bench.run()
        #expect(bench.server.requests.isEmpty)
    }

    enum RecordDamage: CaseIterable, Sendable {
        case missing, empty, cutShort, noPropertyList, ofAnotherURL, ofAnotherFile

        func apply(_ bench: SinkBench) throws {
            let record = bench.record
            let blob = try Data(contentsOf: record)
            switch self {
            case .missing: try FileManager.default.removeItem(at: record)
            case .empty: try Data().write(to: record)
            case .cutShort: try blob.prefix(blob.count / 2).write(to: record)
            case .noPropertyList: try Data("not a list".utf8).write(to: record)
            case .ofAnotherURL:
                try Tampering("url") { entries in
                    var request = entries["originalRequest"] as? [String: Any] ?? [:]
                    request["url"] = bench.server.url("/other").absoluteString
                    entries["originalRequest"] = request
                }.apply(to: blob).write(to: record)
            case .ofAnotherFile:
                try Tampering("tailDigest", String(repeating: "0", count: 64)).apply(to: blob).write(to: record)
            }
        }
    }

    @Test(
        "A record that is missing, damaged or another's makes the load start over", arguments: SinkKind.allCases,
        RecordDamage.allCases)
    func record(kind: SinkKind, _ damage: RecordDamage) async throws {
        for isUnfinished in Self.partUnfinished {
            let bench = try await bench(kind, isUnfinished: isUnfinished)
            try damage.apply(bench)
            await expectStartingOver(bench)
        }
    }

    @Test("A record with values that Purl never writes makes the load start over", arguments: Tampering.refused)
    func tamperedRecord(_ tampering: Tampering) async throws {
        let bench = try await bench(.fileHandle, isUnfinished: true)
        // A record names no path or URL to load, but a record that Purl cannot have written is not used.
        try tampering.apply(to: Data(contentsOf: bench.record)).write(to: bench.record)
        await bench.run()
        #expect(bench.bytes == bench.content.data)
    }

    enum FileDamage: CaseIterable, Sendable {
        case missing, emptied, oneByteShort, lastByte, firstByteOfTail, replaced

        func apply(_ bench: SinkBench) throws {
            let length = try #require(bench.bytes?.count)
            switch self {
            case .missing: try FileManager.default.removeItem(at: bench.file)
            case .emptied: try truncate(bench.file, to: 0)
            case .oneByteShort: try truncate(bench.file, to: UInt64(length - 1))
            case .lastByte: try flipByte(at: length - 1, of: bench.file)
            case .firstByteOfTail: try flipByte(at: length - 65_536, of: bench.file)
            case .replaced: try GeneratedContent(size: length, seed: 77).data.write(to: bench.file)
            }
        }
    }

    @Test("A changed file makes the load start over", arguments: SinkKind.allCases, FileDamage.allCases)
    func file(kind: SinkKind, _ damage: FileDamage) async throws {
        for isUnfinished in Self.partUnfinished {
            let bench = try await bench(kind, isUnfinished: isUnfinished)
            try damage.apply(bench)
            await expectStartingOver(bench)
        }
    }

    @Test("Bytes beyond the record are cut off", arguments: SinkKind.allCases, [1, 70_000])
    func surplus(kind: SinkKind, count: Int) async throws {
        for isUnfinished in Self.partUnfinished {
            let bench = try await bench(kind, isUnfinished: isUnfinished)
            let handle = try FileHandle(forWritingTo: bench.file)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(repeating: 0xAA, count: count))
            try handle.close()
            let outcome = await bench.run()
            #expect(outcome.error == nil)
            #expect(bench.bytes == bench.content.data)
            #expect(bench.ranges == (isUnfinished ? ["bytes=100000-"] : []))
        }
    }

    @Test("A file without a record is replaced", arguments: SinkKind.allCases)
    func noRecord(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        try GeneratedContent(size: 500_000, seed: 50).data.write(to: bench.file)
        bench.answer(bench.good)
        await expectStartingOver(bench)
    }

    @Test("Only the owner can read a record", arguments: SinkKind.allCases)
    func permissions(kind: SinkKind) async throws {
        let bench = try await bench(kind, isUnfinished: true)
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.record.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.sandbox.folder.path)
        #expect(Set(names) == ["movie", "movie.resume"])
    }

    @Test("The record may be in another folder", arguments: SinkKind.allCases)
    func recordElsewhere(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let record = bench.sandbox.file("elsewhere")
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        await bench.run(into: kind.sink(at: bench.file, recordAt: record))
        #expect(FileManager.default.fileExists(atPath: record.path))
        #expect(!FileManager.default.fileExists(atPath: bench.record.path))
        await bench.run(into: kind.sink(at: bench.file, recordAt: record))
        #expect(bench.ranges == ["bytes=100000-"])
        #expect(bench.bytes == bench.content.data)
    }
}
