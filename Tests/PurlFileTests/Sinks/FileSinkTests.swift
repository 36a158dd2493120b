import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Data tasks that write to a file", .timeLimit(.minutes(5)))
struct FileSinkTests {
    @Test("A new file receives the whole body", arguments: SinkKind.allCases)
    func newFile(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let outcome = await bench.run()
        // The delegate receives the response and the completion; the bytes go to the sink.
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(outcome.data.isEmpty)
        #expect(outcome.received == 300_000)
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == [nil])
        #expect(bench.conditions == [nil])
        #expect(bench.recorded?["bytesReceived"] as? Int == 300_000)
        #expect(bench.sandbox.partialNames == [])
    }

    @Test("A file is resumed after a lost connection", arguments: SinkKind.allCases, [true, false])
    func resumed(kind: SinkKind, withTheSameSink: Bool) async throws {
        let bench = try SinkBench(kind)
        let sink = kind.sink(at: bench.file)
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        let lost = await bench.run(into: sink)
        expectError(lost.error, .networkConnectionLost, about: bench.url)
        #expect(lost.events == [.response(200), .completed(.networkConnectionLost)])
        // Resume data is for downloads; a sink's bytes stay where they are.
        #expect(lost.error?.downloadTaskResumeData == nil)
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        #expect(bench.recorded?["bytesReceived"] as? Int == 100_000)

        let outcome = await bench.run(into: withTheSameSink ? sink : nil)
        #expect(outcome.events == [.response(206), .completed(nil)])
        #expect(outcome.received == 300_000)
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-"])
        #expect(bench.conditions == ["\"v1\""])
    }

    @Test("A file is resumed after each of many lost connections", arguments: SinkKind.allCases)
    func manyCuts(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good.cut(afterBytes: 10_000, times: 29))
        for attempt in 0..<30 {
            let outcome = await bench.run()
            #expect(bench.ranges == [attempt == 0 ? nil : "bytes=\(attempt * 10_000)-"])
            #expect(outcome.error?.code == (attempt < 29 ? .networkConnectionLost : nil))
        }
        #expect(bench.bytes == bench.content.data)
    }

    @Test(
        "A whole response replaces the file's bytes", arguments: SinkKind.allCases, [80_000, 100_000, 250_000, 400_000])
    func wholeResponse(kind: SinkKind, newSize: Int) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        let newer = GeneratedContent(size: newSize, seed: 9)
        bench.answer(.generated(newer).entityTag("\"v2\""))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(outcome.received == Int64(newSize))
        #expect(bench.bytes == newer.data)
        #expect(bench.ranges == ["bytes=100000-"])
        #expect(bench.recorded?["bytesReceived"] as? Int == newSize)
        #expect(bench.recorded?["validator"] as? String == "\"v2\"")
    }

    @Test("A server without ranges makes the load start over", arguments: SinkKind.allCases)
    func noRanges(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.answer(bench.good.acceptRanges("none").ignoringRange())
        await bench.run()
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-"])
    }

    @Test("A server that ignores If-Range is asked with If-Match", arguments: SinkKind.allCases)
    func ignoredCondition(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.answer(bench.good.ignoringRange(times: 1))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(206), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-", "bytes=100000-"])
    }

    @Test("The delegate receives the first of several parts, and the sink all of them", arguments: SinkKind.allCases)
    func parts(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.answer(ResumeAnswerTests.parts(of: bench.content, length: 80_000, early: 3))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(206), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-", "bytes=180000-", "bytes=260000-"])
    }

    @Test("A newer version that breaks off leaves its own beginning only", arguments: SinkKind.allCases)
    func newerVersion(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        let newer = GeneratedContent(size: 250_000, seed: 9)
        bench.answer(.generated(newer).entityTag("\"v2\"").cut(afterBytes: 30_000, times: 1))
        await bench.run()
        #expect(bench.bytes == newer.bytes(0..<30_000))
        await bench.run()
        #expect(bench.bytes == newer.data)
        #expect(bench.ranges == ["bytes=30000-"])
        #expect(bench.conditions == ["\"v2\""])
    }

    @Test("A load into a finished file completes without a request", arguments: SinkKind.allCases, [true, false])
    func finishedFile(kind: SinkKind, hasValidator: Bool) async throws {
        let bench = try SinkBench(kind)
        bench.answer(hasValidator ? bench.good : .generated(bench.content))
        await bench.run()
        for _ in 0..<2 {
            let outcome = await bench.run()
            #expect(outcome.events == [.completed(nil)])
            #expect(outcome.status == nil)
            #expect(outcome.received == 300_000)
            #expect(bench.server.requests.isEmpty)
            #expect(bench.bytes == bench.content.data)
        }
    }

    @Test("A 416 with the file's length completes the load", arguments: SinkKind.allCases)
    func complete(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good.chunked().cut(afterBytes: 300_000, times: 1))
        let lost = await bench.run()
        #expect(lost.error?.code == .networkConnectionLost)
        bench.answer(bench.good)
        let outcome = await bench.run()
        // The delegate receives no response to decide on.
        #expect(outcome.events == [.completed(nil)])
        #expect(outcome.status == 416)
        #expect(bench.ranges == ["bytes=300000-"])
        #expect(bench.bytes == bench.content.data)
        await bench.run()
        #expect(bench.server.requests.isEmpty)
    }

    @Test("A response that does not match is never appended", arguments: SinkKind.allCases, ResumeAnswerTests.unusable)
    func unusablePart(kind: SinkKind, _ answer: ResumeAnswerTests.Answer) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.answer(.sequence([answer.reply(bench.good), bench.good]))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-", nil])
    }

    static let withoutValidator: [@Sendable (Reply) -> Reply] = [
        { $0 }, { $0.entityTag("W/\"v1\"") }, { $0.entityTag("\"v1\"").acceptRanges("none") },
        { $0.entityTag("\"v1\"").field("Content-Encoding", "br") },
    ]

    @Test("Without a strong validator the load starts over", arguments: SinkKind.allCases, withoutValidator.indices)
    func noValidator(kind: SinkKind, row: Int) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning(Self.withoutValidator[row](.generated(bench.content)))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == [nil])
    }

    @Test(
        "The body of an error response is delivered to the delegate, and the file stays", arguments: SinkKind.allCases,
        [401, 404, 500, 503])
    func errorPage(kind: SinkKind, status: Int) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        let record = try Data(contentsOf: bench.record)
        bench.answer(.text("no such thing").status(status))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(status), .data(13), .completed(nil)])
        #expect(outcome.data == Data("no such thing".utf8))
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        #expect(try Data(contentsOf: bench.record) == record)

        bench.answer(bench.good)
        await bench.run()
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-"])
    }

    @Test("The body of an error response is decoded", arguments: SinkKind.allCases)
    func codedErrorPage(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        let gzip = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA="))
        bench.answer(.bytes(gzip).status(404).field("Content-Encoding", "gzip"))
        let whole = await bench.run()
        #expect(whole.data == Data("hello, hello, hello".utf8))
        #expect(whole.events.last == .completed(nil))
        bench.answer(.bytes(gzip.dropLast(3)).status(404).field("Content-Encoding", "gzip"))
        let cut = await bench.run()
        #expect(cut.events.last == .completed(.cannotDecodeContentData))
    }

    @Test("The body of an error response is not written to a new file", arguments: SinkKind.allCases)
    func errorPageFirst(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(.text("no such thing").status(404))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(404), .data(13), .completed(nil)])
        #expect(bench.bytes ?? Data() == Data())
        #expect(bench.recorded == nil)
    }

    @Test("The request's own Range is replaced", arguments: SinkKind.allCases)
    func ownRange(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        var request = URLRequest(url: bench.url)
        request.setValue("bytes=7-", forHTTPHeaderField: "Range")
        request.setValue("\"mine\"", forHTTPHeaderField: "If-Range")
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        await bench.run(request: request)
        #expect(bench.ranges == [nil])
        #expect(bench.conditions == [nil])
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        await bench.run(request: request)
        #expect(bench.bytes == bench.content.data)
    }

    @Test("A sink's file of every size is complete", arguments: SinkKind.allCases, [0, 1, 65_536, 3_000_001])
    func sizes(kind: SinkKind, size: Int) async throws {
        let bench = try SinkBench(kind)
        let content = GeneratedContent(size: size, seed: 5)
        bench.answer(.generated(content).entityTag("\"v1\""))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes ?? Data() == content.data)
    }

    @Test("A redirect of a sink's range request keeps the range", arguments: SinkKind.allCases)
    func redirect(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.server.route("/moved", bench.good)
        bench.answer(.redirect(302, to: "/moved"))
        let outcome = await bench.run()
        #expect(outcome.events == [.redirect(302, to: "/moved"), .response(206), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-", "bytes=100000-"])
    }
}
