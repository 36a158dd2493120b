import Foundation
import Purl
import Synchronization

/// A sink in memory that writes down what it is asked and throws where its test wants.
final class ScriptedSink: BodySink {
    enum Call: String, CaseIterable, Sendable {
        case length, append, truncate, bytesIn, synchronize, loadRecord, saveRecord, close
    }

    struct Refusal: LocalizedError, Equatable {
        let call: Call
        var errorDescription: String? { "\(call.rawValue) was refused" }
    }

    private struct State {
        var bytes = Data()
        var record: Data?
        var calls: [Call] = []
        var isBusy = false
        var overlaps = false
        var refused: Call?
    }

    private let state: Mutex<State>

    init(_ bytes: Data = Data(), record: Data? = nil, refusing call: Call? = nil) {
        state = Mutex(State(bytes: bytes, record: record, refused: call))
    }

    var bytes: Data { state.withLock { $0.bytes } }
    var record: Data? { state.withLock { $0.record } }
    /// Neighbouring calls of the same kind are joined.
    var calls: [Call] { state.withLock { $0.calls } }
    var timesClosed: Int { state.withLock { $0.calls.count { $0 == .close } } }
    /// Two calls ran at the same time.
    var overlaps: Bool { state.withLock { $0.overlaps } }

    private func perform<Result: Sendable>(
        _ call: Call, _ body: (inout State) throws -> Result
    ) throws -> Result {
        try state.withLock { state in
            if state.isBusy { state.overlaps = true }
            state.isBusy = true
            if state.calls.last != call || call == .close { state.calls.append(call) }
            guard state.refused != call else {
                state.isBusy = false
                throw Refusal(call: call)
            }
        }
        // Between the two, another call would be seen.
        defer { state.withLock { $0.isBusy = false } }
        return try state.withLock { try body(&$0) }
    }

    var length: Int64 { get throws { try perform(.length) { Int64($0.bytes.count) } } }
    func append(_ data: Data) throws { try perform(.append) { $0.bytes.append(data) } }
    func truncate(to length: Int64) throws { try perform(.truncate) { $0.bytes = $0.bytes.prefix(Int(length)) } }
    func bytes(in range: Range<Int64>) throws -> Data {
        try perform(.bytesIn) { $0.bytes.subdata(in: Int(range.lowerBound)..<Int(range.upperBound)) }
    }
    func synchronize() throws { try perform(.synchronize) { _ in } }
    func loadRecord() throws -> Data? { try perform(.loadRecord) { $0.record } }
    func saveRecord(_ record: Data?) throws { try perform(.saveRecord) { $0.record = record } }
    func close() throws { try perform(.close) { _ in } }
}
