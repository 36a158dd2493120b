import Foundation
import Synchronization

@testable import Purl

/// A sink that is nowhere but in memory.
final class MemorySink: BodySink {
    private struct State {
        var content = Data()
        var record: Data?
    }

    private let state = Mutex(State())

    var content: Data { state.withLock { $0.content } }
    var length: Int64 { Int64(content.count) }

    func append(_ data: Data) { state.withLock { $0.content.append(data) } }
    func truncate(to length: Int64) { state.withLock { $0.content = Data($0.content.prefix(Int(length))) } }
    func bytes(in range: Range<Int64>) -> Data {
        state.withLock { Data($0.content[Int(range.lowerBound)..<Int(range.upperBound)]) }
    }
    func synchronize() {}
    func loadRecord() -> Data? { state.withLock { $0.record } }
    func saveRecord(_ record: Data?) { state.withLock { $0.record = record } }
    func close() {}
}
