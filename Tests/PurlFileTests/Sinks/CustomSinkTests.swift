import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("A custom sink", .timeLimit(.minutes(5)))
struct CustomSinkTests {
    @Test("An empty sink is called in this order")
    func order() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let sink = ScriptedSink()
        let outcome = await bench.run(into: sink)
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(sink.bytes == bench.content.data)
        #expect(sink.calls.first == .length)
        #expect(sink.calls.last == .close)
        #expect(sink.timesClosed == 1)
        #expect(!sink.overlaps)
        // The bytes are synchronised before the record claims them.
        let calls = sink.calls
        let synchronized = try #require(calls.lastIndex(of: .synchronize))
        let recorded = try #require(calls.lastIndex(of: .saveRecord))
        #expect(synchronized < recorded)
        #expect(try #require(calls.lastIndex(of: .append)) < synchronized)
    }

    @Test("Starting over removes the record before the bytes")
    func startingOver() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let sink = ScriptedSink(Data("something else".utf8), record: Data("no record".utf8))
        await bench.run(into: sink)
        #expect(sink.bytes == bench.content.data)
        let calls = sink.calls
        #expect(try #require(calls.firstIndex(of: .saveRecord)) < #require(calls.firstIndex(of: .truncate)))
        #expect(try #require(calls.firstIndex(of: .truncate)) < #require(calls.firstIndex(of: .append)))
    }

    @Test("A custom sink is resumed like a file")
    func resumes() async throws {
        let bench = try SinkBench(.fileHandle)
        let sink = ScriptedSink()
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        await bench.run(into: sink)
        #expect(sink.bytes.count == 100_000)
        let next = ScriptedSink(sink.bytes, record: sink.record)
        await bench.run(into: next)
        #expect(next.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-"])
        await bench.run(into: next)
        #expect(bench.server.requests.isEmpty)
    }

    /// - Parameter call: The call that fails.
    @Test(
        "An error that the sink throws is the underlying error",
        arguments: [
            (ScriptedSink.Call.length, URLError.Code.cannotOpenFile), (.append, .cannotWriteToFile),
            (.truncate, .cannotWriteToFile), (.saveRecord, .cannotWriteToFile), (.synchronize, .cannotWriteToFile),
            (.bytesIn, .cannotWriteToFile), (.close, .cannotWriteToFile),
        ])
    func errors(call: ScriptedSink.Call, code: URLError.Code) async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let sink = ScriptedSink(refusing: call)
        let outcome = await bench.run(into: sink)
        expectError(outcome.error, code, about: bench.url)
        let underlying = outcome.error?.userInfo[NSUnderlyingErrorKey] as? ScriptedSink.Refusal
        #expect(underlying == ScriptedSink.Refusal(call: call))
        #expect(outcome.error?.failureSentence.contains("\(call.rawValue) was refused") == true)
        #expect(outcome.events.last == .completed(code))
        #expect(sink.timesClosed == 1)
        #expect(sink.calls.last == .close)
        #expect(!sink.overlaps)
    }

    @Test(
        "A failure to read the sink starts over or fails, and never gives a wrong body",
        arguments: [ScriptedSink.Call.loadRecord, .bytesIn])
    func readingFails(call: ScriptedSink.Call) async throws {
        let bench = try SinkBench(.fileHandle)
        let sink = ScriptedSink()
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        await bench.run(into: sink)
        let next = ScriptedSink(sink.bytes, record: sink.record, refusing: call)
        let outcome = await bench.run(into: next)
        #expect(next.timesClosed == 1)
        if let error = outcome.error {
            #expect([.cannotOpenFile, .cannotWriteToFile].contains(error.code))
            #expect(error.userInfo[NSUnderlyingErrorKey] is ScriptedSink.Refusal)
        } else {
            #expect(next.bytes == bench.content.data)
        }
    }

    enum End: CaseIterable, Sendable {
        case success, cut, errorPage, finished, refused, cancelled, timedOut, badAddress
    }

    @Test("A sink is closed once, however the task ends", arguments: End.allCases)
    func closed(_ end: End) async throws {
        let bench = try SinkBench(.fileHandle)
        let sink = ScriptedSink()
        var request = URLRequest(url: bench.url)
        var disposition = URLSession.ResponseDisposition.allow
        var expected: URLError.Code?
        var port: DeadPort?
        switch end {
        case .success:
            bench.answer(bench.good)
        case .cut:
            bench.answer(bench.good.cut(afterBytes: 100_000))
            expected = .networkConnectionLost
        case .errorPage:
            bench.answer(.text("gone").status(410))
        case .finished:
            bench.answer(bench.good)
            let other = ScriptedSink()
            await bench.run(into: other)
            try sink.append(other.bytes)
            try sink.saveRecord(other.record)
        case .refused:
            let closed = try DeadPort()
            request.url = closed.url("/file")
            port = closed
            expected = .cannotConnectToHost
        case .cancelled:
            bench.answer(bench.good)
            disposition = .cancel
            expected = .cancelled
        case .timedOut:
            bench.answer(bench.good.stalled(afterBytes: 100_000))
            request.timeoutInterval = 0.2
            expected = .timedOut
        case .badAddress:
            request.url = URL(string: "https://localhost/")
            expected = .unsupportedURL
        }
        let outcome = await bench.run(into: sink, request: request, disposition: disposition)
        withExtendedLifetime(port) {}
        #expect(outcome.events.last == .completed(expected))
        #expect(sink.timesClosed == 1)
        #expect(sink.calls.last == .close)
        if end == .finished { #expect(bench.server.requests.isEmpty) }
    }

    @Test("No byte is written after a failed write, and the error is reported once")
    func failure() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(.generated(size: 50_000_000).entityTag("\"v1\""))
        let sink = ScriptedSink(refusing: .append)
        let outcome = await bench.run(into: sink)
        #expect(outcome.events == [.response(200), .completed(.cannotWriteToFile)])
        #expect(sink.bytes.isEmpty)
        await bench.server.waitUntilDisconnected()
        #expect(bench.server.requests.map(\.ending) == [.clientLeft])
    }
}

/// A sink in memory that records its calls and throws where the test wants.
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
    /// Whether two calls ran at the same time.
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
        // A call in between would be noticed.
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
