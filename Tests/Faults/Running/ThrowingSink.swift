internal import Foundation
internal import Purl
import Synchronization

/// A sink of a user's own that throws when one certain thing is asked of it.
final class ThrowingSink: BodySink {
    /// What may be asked of a sink.
    enum Call: String, CaseIterable, Sendable {
        case length, append, truncate, bytes, synchronize, loadRecord, saveRecord, close
    }

    /// What it throws.
    struct Trouble: Error {}

    private let trouble: Call
    private let content = Mutex(Data("something older".utf8))

    init(at trouble: Call) {
        self.trouble = trouble
    }

    private func pass(_ call: Call) throws {
        if call == trouble { throw Trouble() }
    }

    var length: Int64 {
        get throws {
            try pass(.length)
            return content.withLock { Int64($0.count) }
        }
    }

    func append(_ data: Data) throws {
        try pass(.append)
        content.withLock { $0.append(data) }
    }

    func truncate(to length: Int64) throws {
        try pass(.truncate)
        content.withLock { $0 = Data($0.prefix(Int(length))) }
    }

    func bytes(in range: Range<Int64>) throws -> Data {
        try pass(.bytes)
        return content.withLock { Data($0[Int(range.lowerBound)..<Int(range.upperBound)]) }
    }

    func synchronize() throws { try pass(.synchronize) }

    func loadRecord() throws -> Data? {
        try pass(.loadRecord)
        return nil
    }

    func saveRecord(_ record: Data?) throws { try pass(.saveRecord) }
    func close() throws { try pass(.close) }
}
