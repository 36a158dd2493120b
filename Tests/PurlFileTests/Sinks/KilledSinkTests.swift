import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A sink whose process was killed", .timeLimit(.minutes(5)))
struct KilledSinkTests {
    enum Recorded: CaseIterable, Sendable {
        /// That bytes were to follow.
        case beginning
        /// That these had reached the disk.
        case checkpoint
    }

    /// The file and the record as a process leaves them that is killed when the server has sent so many bytes.
    private func killed(_ bench: SinkBench, at count: Int, _ recorded: Recorded) async throws -> (
        file: URL, record: URL
    ) {
        let (file, record) = (bench.sandbox.file("left"), bench.sandbox.file("left.resume"))
        // A checkpoint follows the bytes by a second of this clock, which only passes here.
        let clock = ManualClock()
        let session = bench.sandbox.session(Witness()) { $0.clock = clock }
        bench.answer(bench.good.stalled(afterBytes: count))
        session.dataTask(with: bench.url, writingTo: bench.kind.sink(at: bench.file)).resume()
        let second = Task {
            guard recorded == .checkpoint else { return }
            while !Task.isCancelled {
                // The task's time-out is one of them.
                await clock.waitForDeadlines(2)
                clock.advance(by: .seconds(1))
            }
        }
        defer { second.cancel() }
        try await FolderChanges.wait(in: bench.sandbox.folder) {
            bench.bytes?.count == count
                && (recorded == .beginning || bench.recorded?["bytesReceived"] as? Int == count)
        }
        try FolderChanges.copyFile(bench.file, to: file)
        try FolderChanges.copyFile(bench.record, to: record)
        session.invalidateAndCancel()
        bench.answer(bench.good)
        return (file, record)
    }

    @Test("Every byte counts that was written", arguments: SinkKind.allCases, [1, 100_000, 299_999])
    func sameBoot(kind: SinkKind, count: Int) async throws {
        for recorded in Recorded.allCases {
            let bench = try SinkBench(kind)
            let left = try await killed(bench, at: count, recorded)
            #expect(ResumeRecord(contentsOf: left.record)?.bytesReceived == Int64(count))
            await bench.run(into: kind.sink(at: left.file, recordAt: left.record))
            #expect(bench.ranges == ["bytes=\(count)-"])
            #expect(try Data(contentsOf: left.file) == bench.content.data)
        }
    }

    @Test("After another boot only the bytes count that had reached the disk", arguments: SinkKind.allCases)
    func otherBoot(kind: SinkKind) async throws {
        for recorded in Recorded.allCases {
            let bench = try SinkBench(kind)
            let left = try await killed(bench, at: 100_000, recorded)
            let handle = try FileHandle(forWritingTo: left.file)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(count: 5000))
            try handle.close()
            try Tampering("boot", "an earlier boot").apply(to: Data(contentsOf: left.record)).write(to: left.record)
            await bench.run(into: kind.sink(at: left.file, recordAt: left.record))
            #expect(bench.ranges == [recorded == .checkpoint ? "bytes=100000-" : nil])
            #expect(try Data(contentsOf: left.file) == bench.content.data)
        }
    }

    @Test("A whole file that was not recorded as such needs no request", arguments: SinkKind.allCases)
    func whole(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let left = try await killed(bench, at: 299_999, .beginning)
        try bench.content.data.write(to: left.file)
        let outcome = await bench.run(into: kind.sink(at: left.file, recordAt: left.record))
        #expect(outcome.events == [.completed(nil)])
        #expect(bench.server.requests.isEmpty)
    }
}
