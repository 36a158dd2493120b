import Foundation
import Synchronization
import Testing

@testable import Purl
@testable import PurlIO
@testable import SessionFixtures

@Suite("The pieces in which a sink gets its bytes", .timeLimit(.minutes(1)))
struct SinkPieceTests {
    /// Remembers the sizes of the pieces.
    private final class MeasuringSink: BodySink {
        private let pieces = Mutex<[Int]>([])

        var sizes: [Int] { pieces.withLock { $0 } }
        var length: Int64 { Int64(sizes.reduce(0, +)) }
        func append(_ data: Data) { pieces.withLock { $0.append(data.count) } }
        func truncate(to length: Int64) {}
        func bytes(in range: Range<Int64>) -> Data { Data(count: range.count) }
        func synchronize() {}
        func loadRecord() -> Data? { nil }
        func saveRecord(_ record: Data?) {}
        func close() {}
    }

    private let sink = MeasuringSink()

    private func makeWriter(
        limit: Int = 1 << 20, report: @escaping @Sendable @NetworkActor (SinkWriter.Event) -> Void = { _ in }
    ) -> SinkWriter {
        SinkWriter(sink, .none, limit: limit, report: report)
    }

    /// Puts bytes in by themselves, so many times, and ends.
    private func put(_ size: Int, times: Int, into writer: SinkWriter) async -> Int64? {
        await withCheckedContinuation { continuation in
            NetworkActor.post {
                let bytes = [UInt8](repeating: 7, count: size)
                for _ in 0..<times { _ = bytes.withBytes { writer.put($0) } }
                writer.complete { continuation.resume(returning: try? $0.get()) }
            }
        }
    }

    @Test("All but the first and the last have 64 KiB at least", arguments: [1000, 16_384, 20_000, 65_536, 100_000])
    func sizes(size: Int) async {
        #expect(await put(size, times: 100, into: makeWriter(limit: .max)) == Int64(size) * 100)
        #expect(sink.sizes.dropFirst().dropLast().allSatisfy { $0 >= 65_536 })
    }

    @Test("Fewer are written when there is no room for more")
    func littleRoom() async {
        #expect(await put(100, times: 10, into: makeWriter(limit: 250)) == 1000)
    }

    @Test("Few bytes are written without others to follow")
    func fewBytes() async {
        let (written, continuation) = AsyncStream.makeStream(of: Int.self)
        let writer = makeWriter { if case .wrote(let count, _) = $0 { continuation.yield(count) } }
        var counts = written.makeAsyncIterator()
        for size in [3, 5, 7] {
            await NetworkActor.shared.put(size, into: writer)
            #expect(await counts.next() == size)
        }
        #expect(sink.sizes == [3, 5, 7])
    }
}

extension NetworkActor {
    fileprivate func put(_ size: Int, into writer: SinkWriter) async {
        await withCheckedContinuation { continuation in
            Self.post {
                _ = [UInt8](repeating: 7, count: size).withBytes { writer.put($0) }
                continuation.resume()
            }
        }
    }
}
