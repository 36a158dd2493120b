import Foundation
import PurlIO
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("When a sink's position is recorded, and what a stopped sink reports", .timeLimit(.minutes(5)))
struct CheckpointTests {
    /// A sink in memory whose record may fail to be saved.
    private final class Sink: BodySink {
        let bytes = Mutex(Data())
        let keeper: Keeper

        init(_ keeper: Keeper) { self.keeper = keeper }

        var length: Int64 { bytes.withLock { Int64($0.count) } }
        func append(_ data: Data) { bytes.withLock { $0.append(data) } }
        func truncate(to length: Int64) { bytes.withLock { $0 = $0.prefix(Int(length)) } }
        func bytes(in range: Range<Int64>) -> Data {
            bytes.withLock { $0.subdata(in: Int(range.lowerBound)..<Int(range.upperBound)) }
        }
        func synchronize() {}
        func loadRecord() -> Data? { nil }
        func saveRecord(_ record: Data?) throws {
            let bytes = try record.map { try ResumeData(decoding: $0).bytesReceived } ?? 0
            if keeper == .brokenSink || (keeper == .fullSink && bytes > 0) { throw CocoaError(.fileWriteOutOfSpace) }
        }
        func close() {}
    }

    /// What keeps the record. A broken one keeps none, a full one none of any bytes.
    enum Keeper: CaseIterable, Sendable { case none, sink, brokenSink, fullSink, journal, brokenJournal, fullJournal }

    private func writer(_ keeper: Keeper, _ record: @escaping @Sendable (SinkWriter.Checkpoint) -> Void = { _ in })
        -> SinkWriter
    {
        let checkpointPlace: SinkWriter.CheckpointPlace =
            switch keeper {
            case .none: .none
            case .sink, .brokenSink, .fullSink: .sinkRecord
            case .journal: .journal { record($0) }
            case .brokenJournal: .journal { _ in throw CocoaError(.fileWriteOutOfSpace) }
            case .fullJournal:
                .journal { checkpoint in
                    if case .partial(let resume) = checkpoint, resume.bytesReceived > 0 {
                        throw CocoaError(.fileWriteOutOfSpace)
                    }
                }
            }
        return SinkWriter(Sink(keeper), checkpointPlace, limit: 1 << 20) { _ in }
    }

    private func template() throws -> ResumeTemplate {
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/file")))
        return ResumeTemplate(originalRequest: request, currentRequest: request, validator: "\"v1\"", total: 5000)
    }

    @NetworkActor private func put(_ bytes: Data, into writer: SinkWriter) {
        _ = bytes.withUnsafeBytes { writer.put($0) }
    }

    private func stop(_ writer: SinkWriter) async -> ResumeData? {
        await withCheckedContinuation { continuation in writer.stop { continuation.resume(returning: $0) } }
    }

    @Test(
        "Stopping returns the bytes received, even when the record cannot be saved",
        arguments: [Keeper.none, .sink, .fullSink, .journal, .fullJournal])
    func stopping(_ keeper: Keeper) async throws {
        let writer = writer(keeper)
        writer.begin(try template(), .startingOver)
        let bytes = Data(repeating: 7, count: 1000)
        await put(bytes, into: writer)
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
        begun.begin(try template(), .startingOver)
        #expect(await stop(begun) == nil)
    }

    @Test("Stopping after a failed truncation returns no resume data", arguments: [Keeper.brokenSink, .brokenJournal])
    func stoppingAfterFailedTruncation(_ keeper: Keeper) async throws {
        let writer = writer(keeper)
        try writer.sink.append(Data(count: 100))
        writer.begin(try template(), .startingOver)
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
        writer.begin(try template(), .startingOver)
        await put(Data(count: 5000), into: writer)
        let length = await withCheckedContinuation { continuation in
            writer.complete { continuation.resume(returning: try? $0.get()) }
        }
        #expect(length == 5000)
        let recorded = checkpoints.withLock { $0 }
        #expect(recorded.first == "reset" && recorded.last == "complete 5000")
        #expect(recorded.dropFirst().dropLast().allSatisfy { $0.hasPrefix("partial") })
    }

    // MARK: The disk

    /// A sink in memory, on a disk that takes its time.
    private final class SlowSink: ConcurrentSink {
        let bytes = Mutex(Data())
        let records = Mutex<[ResumeData]>([])
        let timesWaited = Mutex(0)
        let disk = DispatchSemaphore(value: 0)
        let completion: SinkCompletion

        init(_ completion: SinkCompletion) { self.completion = completion }

        var length: Int64 { bytes.withLock { Int64($0.count) } }
        func append(_ data: Data) { bytes.withLock { $0.append(data) } }
        func truncate(to length: Int64) { bytes.withLock { $0 = $0.prefix(Int(length)) } }
        func bytes(in range: Range<Int64>) -> Data {
            bytes.withLock { $0.subdata(in: Int(range.lowerBound)..<Int(range.upperBound)) }
        }
        func makeSynchronization() -> @Sendable () throws -> Void { { self.disk.wait() } }
        func synchronize() { timesWaited.withLock { $0 += 1 } }
        func loadRecord() -> Data? { nil }
        func saveRecord(_ record: Data?) throws {
            guard let record = try record.map({ try ResumeData(decoding: $0) }) else { return }
            records.withLock { $0.append(record) }
        }
        func synchronizeRecord() {}
        func close() {}
        func closeWithoutWaiting() {}
    }

    @Test("Bytes and the end wait for no checkpoint, and none is recorded after the end")
    func besideTheTransfer() async throws {
        let sink = SlowSink(.written)
        let writer = SinkWriter(sink, .sinkRecord, limit: 1 << 20) { _ in }
        writer.begin(try template(), .startingOver)
        await put(Data(count: 1000), into: writer)
        await withCheckedContinuation { continuation in
            writer.examineSink { _ in
            } then: { _ in
                continuation.resume()
            }
        }
        let (checkpoints, saved) = AsyncStream.makeStream(of: Void.self)
        writer.saveCheckpoint { saved.finish() }
        // The disk is busy from here.
        await put(Data(count: 4000), into: writer)
        let length = await withCheckedContinuation { continuation in
            writer.complete { continuation.resume(returning: try? $0.get()) }
        }
        #expect(length == 5000)
        #expect(sink.timesWaited.withLock { $0 } == 0)
        sink.disk.signal()
        for await _ in checkpoints {}
        let records = sink.records.withLock { $0 }
        #expect(records.map(\.bytesReceived) == [0, 5000])
        #expect(records.map(\.state) == [.writing, .stopped])
        #expect(records.last?.safe?.count == 0)
    }

    @Test("A checkpoint records the bytes that there were when it began")
    func duringTheTransfer() async throws {
        let sink = SlowSink(.safe)
        let writer = SinkWriter(sink, .sinkRecord, limit: 1 << 20) { _ in }
        writer.begin(try template(), .startingOver)
        for count in [1000, 2000] {
            await put(Data(count: count), into: writer)
            await withCheckedContinuation { continuation in
                writer.examineSink { _ in
                } then: { _ in
                    continuation.resume()
                }
            }
            sink.disk.signal()
            await withCheckedContinuation { continuation in
                writer.saveCheckpoint { continuation.resume() }
            }
        }
        #expect(sink.records.withLock { $0 }.map(\.bytesReceived) == [0, 1000, 3000])
        #expect(sink.records.withLock { $0 }.allSatisfy { $0.state == .writing && $0.safe == nil })
    }
}
