import Foundation
import Synchronization
import Testing

@testable import Purl

@Suite("When a sink's position is recorded, and what a stopped sink reports", .timeLimit(.minutes(5)))
struct CheckpointTests {
    @Test("A checkpoint is due after half a megabyte", arguments: [1 << 19, (1 << 19) + 1, 1 << 30])
    func due(count: Int) {
        var schedule = CheckpointSchedule()
        let isDue = schedule.isDue(afterWriting: count)
        #expect(isDue)
    }

    @Test("Small writes add up to a due checkpoint")
    func smallWrites() {
        var schedule = CheckpointSchedule()
        var isDue = false
        for _ in 0..<8 { isDue = schedule.isDue(afterWriting: 1 << 16) }
        #expect(isDue)
    }

    /// A slow machine may take a second between two lines; not a hundred times in a row.
    @Test("Less than half a megabyte makes no checkpoint due")
    func notDue() {
        let isPatient = (0..<100).contains { _ in
            var schedule = CheckpointSchedule()
            return !schedule.isDue(afterWriting: (1 << 19) - 1)
        }
        #expect(isPatient)
    }

    @Test("Counting restarts after a checkpoint")
    func restart() {
        let isPatient = (0..<100).contains { _ in
            var schedule = CheckpointSchedule()
            _ = schedule.isDue(afterWriting: 1 << 19)
            schedule.checkpointEnded()
            return !schedule.isDue(afterWriting: 1)
        }
        #expect(isPatient)
    }

    @Test("A due checkpoint stays due until it is made")
    func staysDue() {
        var schedule = CheckpointSchedule()
        let isDue = schedule.isDue(afterWriting: 1 << 19)
        let isStillDue = schedule.isDue(afterWriting: 0)
        #expect(isDue && isStillDue)
    }

    // MARK: Stopping

    /// A sink in memory whose record may fail to be saved.
    private final class Sink: BodySink {
        let bytes = Mutex(Data())
        let recordFails: Bool

        init(recordFails: Bool) { self.recordFails = recordFails }

        var length: Int64 { bytes.withLock { Int64($0.count) } }
        func append(_ data: Data) { bytes.withLock { $0.append(data) } }
        func truncate(to length: Int64) { bytes.withLock { $0 = $0.prefix(Int(length)) } }
        func bytes(in range: Range<Int64>) -> Data {
            bytes.withLock { $0.subdata(in: Int(range.lowerBound)..<Int(range.upperBound)) }
        }
        func synchronize() {}
        func loadRecord() -> Data? { nil }
        func saveRecord(_ record: Data?) throws { if recordFails { throw CocoaError(.fileWriteOutOfSpace) } }
        func close() {}
    }

    enum Keeper: CaseIterable, Sendable { case none, sink, brokenSink, journal, brokenJournal }

    private func writer(_ keeper: Keeper, _ record: @escaping @Sendable (SinkWriter.Checkpoint) -> Void = { _ in })
        -> SinkWriter
    {
        let checkpointPlace: SinkWriter.CheckpointPlace =
            switch keeper {
            case .none: .none
            case .sink, .brokenSink: .sinkRecord
            case .journal: .journal { record($0) }
            case .brokenJournal: .journal { _ in throw CocoaError(.fileWriteOutOfSpace) }
            }
        return SinkWriter(Sink(recordFails: keeper == .brokenSink), checkpointPlace, limit: 1 << 20) { _ in }
    }

    private func template() throws -> ResumeTemplate {
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/file")))
        return ResumeTemplate(originalRequest: request, currentRequest: request, validator: "\"v1\"", total: 5000)
    }

    private func stop(_ writer: SinkWriter) async -> ResumeData? {
        await withCheckedContinuation { continuation in writer.stop { continuation.resume(returning: $0) } }
    }

    @Test("Stopping returns the bytes received, even when the record cannot be saved", arguments: Keeper.allCases)
    func stopping(_ keeper: Keeper) async throws {
        let writer = writer(keeper)
        writer.begin(try template(), startingOver: false)
        let bytes = Data(repeating: 7, count: 1000)
        _ = bytes.withUnsafeBytes { writer.put($0) }
        let resume = try #require(await stop(writer))
        #expect(resume.bytesReceived == 1000)
        #expect(resume.totalBytes == 5000)
        #expect(resume.validator == "\"v1\"")
        #expect(resume.tailDigest == bytes.sha256)
        // Once more changes nothing.
        #expect(await stop(writer) == resume)
    }

    @Test("Stopping before the first byte returns no resume data", arguments: Keeper.allCases)
    func stoppingEarly(_ keeper: Keeper) async throws {
        let writer = writer(keeper)
        #expect(await stop(writer) == nil)
        let begun = self.writer(keeper)
        begun.begin(try template(), startingOver: false)
        #expect(await stop(begun) == nil)
    }

    @Test("Stopping after a failed truncation returns no resume data", arguments: [Keeper.brokenSink, .brokenJournal])
    func stoppingAfterFailedTruncation(_ keeper: Keeper) async throws {
        let writer = writer(keeper)
        try writer.sink.append(Data(count: 100))
        writer.begin(try template(), startingOver: true)
        #expect(await stop(writer) == nil)
        #expect(try writer.sink.length == 100)
    }

    @Test("The journal records the truncation before the new bytes, and the end last")
    func order() async throws {
        let checkpoints = Mutex<[String]>([])
        let writer = writer(.journal) { checkpoint in
            let text =
                switch checkpoint {
                case .reset: "reset"
                case .partial(let resume): "partial \(resume.bytesReceived)"
                case .complete(let length): "complete \(length)"
                }
            checkpoints.withLock { $0.append(text) }
        }
        try writer.sink.append(Data(count: 100))
        writer.begin(try template(), startingOver: true)
        _ = Data(count: 5000).withUnsafeBytes { writer.put($0) }
        let length = await withCheckedContinuation { continuation in
            writer.complete { continuation.resume(returning: try? $0.get()) }
        }
        #expect(length == 5000)
        let recorded = checkpoints.withLock { $0 }
        #expect(recorded.first == "reset" && recorded.last == "complete 5000")
        #expect(recorded.dropFirst().dropLast().allSatisfy { $0.hasPrefix("partial") })
    }
}
