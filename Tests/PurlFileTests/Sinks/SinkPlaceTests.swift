import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("What is at the paths of a sink's file and its record", .timeLimit(.minutes(5)))
struct SinkPlaceTests {
    private func expectRefusal(_ bench: SinkBench, _ reason: String) async throws {
        bench.answer(bench.good)
        let outcome = await bench.run()
        expectError(outcome.error, .cannotOpenFile, about: bench.url)
        let texts = (outcome.error?.userInfo.values).map { $0.compactMap { $0 as? String } } ?? []
        #expect(texts.contains("\(bench.file.path) could not be opened: \(reason)."))
    }

    @Test("A symbolic link is not followed", arguments: SinkKind.allCases, ["victim", "nothing"])
    func link(kind: SinkKind, target: String) async throws {
        let bench = try SinkBench(kind)
        try Data("precious".utf8).write(to: bench.sandbox.file("victim"))
        try FileManager.default.createSymbolicLink(atPath: bench.file.path, withDestinationPath: target)
        try await expectRefusal(bench, "it is a symbolic link, which is not followed")
        #expect(try Data(contentsOf: bench.sandbox.file("victim")) == Data("precious".utf8))
        #expect(!FileManager.default.fileExists(atPath: bench.sandbox.file("nothing").path))
    }

    @Test("A file with a second name is not written to", arguments: SinkKind.allCases)
    func hardLink(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        try Data("precious".utf8).write(to: bench.sandbox.file("victim"))
        try FileManager.default.linkItem(at: bench.sandbox.file("victim"), to: bench.file)
        try await expectRefusal(bench, "it has a second name, a hard link")
        #expect(bench.bytes == Data("precious".utf8))
    }

    @Test("A FIFO is refused, and not waited for", arguments: SinkKind.allCases)
    func pipe(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        #expect(mkfifo(bench.file.path, 0o600) == 0)
        try await expectRefusal(bench, "it is not a regular file")
    }

    @Test("A folder in the record's place fails the task, and keeps what it holds", arguments: SinkKind.allCases)
    func folder(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let kept = bench.record.appendingPathComponent("precious")
        try FileManager.default.createDirectory(at: bench.record, withIntermediateDirectories: false)
        try Data("precious".utf8).write(to: kept)
        let outcome = await bench.run()
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
        #expect(try Data(contentsOf: kept) == Data("precious".utf8))
    }

    @Test("What the names of the record lead to is not written to", arguments: SinkKind.allCases, ["", ".new"])
    func recordLink(kind: SinkKind, suffix: String) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let victim = bench.sandbox.file("victim")
        try Data("precious".utf8).write(to: victim)
        let place = bench.sandbox.file("movie.resume" + suffix)
        try FileManager.default.createSymbolicLink(at: place, withDestinationURL: victim)
        #expect(await bench.run().error == nil)
        try FileManager.default.removeItem(at: bench.record)
        try FileManager.default.linkItem(at: victim, to: place)
        #expect(await bench.run().error == nil)
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
        #expect(bench.recorded?["bytesReceived"] as? Int == 300_000)
    }

    @Test(
        "A record of another user's counts for nothing", .enabled(if: geteuid() == 0), arguments: SinkKind.allCases)
    func otherUser(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        #expect(chown(bench.record.path, 12_345, 12_345) == 0)
        #expect(ResumeRecord(contentsOf: bench.record) == nil)
        #expect(await bench.run().error == nil)
        #expect(bench.ranges == [nil])
        #expect(bench.bytes == bench.content.data)
    }

    @Test("There is a record before the first byte, from which nothing is resumed", arguments: SinkKind.allCases)
    func firstRecord(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        // Without a validator there is no checkpoint.
        bench.answer(.generated(bench.content).cut(afterBytes: 100_000, times: 1))
        #expect(await bench.run().error?.code == .networkConnectionLost)
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        let record = try #require(ResumeRecord(contentsOf: bench.record))
        #expect(record.url == bench.url)
        #expect(record.bytesReceived == 0)
        #expect(await bench.run().error == nil)
        #expect(bench.ranges == [nil])
        #expect(bench.bytes == bench.content.data)
    }
}
