import Foundation
import Purl
import PurlTesting
import Testing

/// What a sink of one's own is asked, and what becomes of what it throws.
@Suite(.timeLimit(.minutes(5))) struct CustomSinkTests {
    @Test func aFreshSinkIsAskedInThisOrder() async throws {
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
        // The bytes are safe before the record vouches for them.
        let calls = sink.calls
        let synchronized = try #require(calls.lastIndex(of: .synchronize))
        let recorded = try #require(calls.lastIndex(of: .saveRecord))
        #expect(synchronized < recorded)
        #expect(try #require(calls.lastIndex(of: .append)) < synchronized)
    }

    /// The record goes before the bytes do, so that it never vouches for bytes of another version.
    @Test func startingOverForgetsTheRecordFirst() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let sink = ScriptedSink(Data("something else".utf8), record: Data("no record".utf8))
        await bench.run(into: sink)
        #expect(sink.bytes == bench.content.data)
        let calls = sink.calls
        #expect(try #require(calls.firstIndex(of: .saveRecord)) < #require(calls.firstIndex(of: .truncate)))
        #expect(try #require(calls.firstIndex(of: .truncate)) < #require(calls.firstIndex(of: .append)))
    }

    @Test func itGoesOnLikeAFile() async throws {
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

    /// - Parameter call: What the sink refuses.
    @Test(arguments: [
        (ScriptedSink.Call.length, URLError.Code.cannotOpenFile), (.append, .cannotWriteToFile),
        (.truncate, .cannotWriteToFile), (.saveRecord, .cannotWriteToFile), (.synchronize, .cannotWriteToFile),
        (.bytesIn, .cannotWriteToFile), (.close, .cannotWriteToFile),
    ])
    func whatASinkThrowsLiesUnderneath(call: ScriptedSink.Call, code: URLError.Code) async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let sink = ScriptedSink(refusing: call)
        let outcome = await bench.run(into: sink)
        expectError(outcome.error, code, about: bench.url)
        let underlying = outcome.error?.userInfo[NSUnderlyingErrorKey] as? ScriptedSink.Refusal
        #expect(underlying == ScriptedSink.Refusal(call: call))
        #expect(outcome.error?.localizedDescription.contains("\(call.rawValue) was refused") == true)
        #expect(outcome.events.last == .completed(code))
        #expect(sink.timesClosed == 1)
        #expect(!sink.overlaps)
    }

    /// A record that cannot be read is one that cannot be trusted, or an error; but never a wrong body.
    @Test(arguments: [ScriptedSink.Call.loadRecord, .bytesIn]) func lookingIntoTheSinkFails(
        call: ScriptedSink.Call
    ) async throws {
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

    @Test(arguments: End.allCases) func itIsClosedOnceHoweverTheTaskEnds(_ end: End) async throws {
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
            port = try DeadPort(stopping: bench.server)
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

    /// A sink that fails in the middle: no byte is written after the one it refused, and the reason is told once.
    @Test func aFailureStopsTheTransfer() async throws {
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
