import Foundation
import Purl
import PurlTesting
import Testing

/// A data task that writes to a file asks for what is missing and appends it; what changed is loaded anew.
@Suite(.timeLimit(.minutes(5))) struct FileSinkTests {
    @Test(arguments: SinkKind.allCases) func aFreshFileGetsEverything(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let outcome = await bench.run()
        // The delegate hears of the response and of the end; the bytes are the sink's.
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(outcome.data.isEmpty)
        #expect(outcome.received == 300_000)
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == [nil])
        #expect(bench.conditions == [nil])
        #expect(bench.recorded?["bytesReceived"] as? Int == 300_000)
        #expect(bench.sandbox.partialNames == [])
    }

    @Test(arguments: SinkKind.allCases, [true, false])
    func afterACutItGoesOn(kind: SinkKind, withTheSameSink: Bool) async throws {
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

    @Test(arguments: SinkKind.allCases) func manyCutsInARow(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good.cut(afterBytes: 10_000, times: 29))
        for attempt in 0..<30 {
            let outcome = await bench.run()
            #expect(bench.ranges == [attempt == 0 ? nil : "bytes=\(attempt * 10_000)-"])
            #expect(outcome.error?.code == (attempt < 29 ? .networkConnectionLost : nil))
        }
        #expect(bench.bytes == bench.content.data)
    }

    @Test(arguments: SinkKind.allCases, [80_000, 100_000, 250_000, 400_000])
    func aWholeAnswerEmptiesTheFileFirst(kind: SinkKind, newSize: Int) async throws {
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

    @Test(arguments: SinkKind.allCases) func aServerWithoutRangesStartsOver(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.answer(bench.good.ignoringRange())
        await bench.run()
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-"])
    }

    /// The newer version broke off: what is there is its beginning, and nothing of the older one.
    @Test(arguments: SinkKind.allCases) func aNewerVersionThatBreaksOff(kind: SinkKind) async throws {
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

    @Test(arguments: SinkKind.allCases, [true, false])
    func aFinishedFileAsksNothing(kind: SinkKind, hasValidator: Bool) async throws {
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

    @Test(arguments: SinkKind.allCases) func unsatisfiableWithOurLengthMeansFinished(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good.chunked().cut(afterBytes: 300_000, times: 1))
        let lost = await bench.run()
        #expect(lost.error?.code == .networkConnectionLost)
        bench.answer(bench.good)
        let outcome = await bench.run()
        // The response has nothing that could be decided about.
        #expect(outcome.events == [.completed(nil)])
        #expect(outcome.status == 416)
        #expect(bench.ranges == ["bytes=300000-"])
        #expect(bench.bytes == bench.content.data)
        await bench.run()
        #expect(bench.server.requests.isEmpty)
    }

    @Test(arguments: SinkKind.allCases, ResumeAnswerTests.unusable)
    func anAnswerThatDoesNotFitIsNeverAppended(kind: SinkKind, _ answer: ResumeAnswerTests.Answer) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        bench.answer(.sequence([answer.reply(bench.good), bench.good]))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == ["bytes=100000-", nil])
    }

    static let withoutValidator: [@Sendable (Reply) -> Reply] = [
        { $0 }, { $0.entityTag("W/\"v1\"") }, { $0.entityTag("\"v1\"").acceptRanges(nil) },
        { $0.entityTag("\"v1\"").field("Content-Encoding", "br") },
    ]

    @Test(arguments: SinkKind.allCases, withoutValidator.indices)
    func withoutAStrongValidatorItStartsOver(kind: SinkKind, row: Int) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning(Self.withoutValidator[row](.generated(bench.content)))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == [nil])
    }

    @Test(arguments: SinkKind.allCases, [401, 404, 500, 503])
    func anErrorPageGoesToTheDelegateAndLeavesTheFile(kind: SinkKind, status: Int) async throws {
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

    /// Nobody asked for a coding along with the range, yet a server may use one.
    @Test(arguments: SinkKind.allCases) func aCodedErrorPageIsDecoded(kind: SinkKind) async throws {
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

    @Test(arguments: SinkKind.allCases) func anErrorPageIsNoBeginningEither(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(.text("no such thing").status(404))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(404), .data(13), .completed(nil)])
        #expect(bench.bytes ?? Data() == Data())
        #expect(bench.recorded == nil)
    }

    @Test(arguments: SinkKind.allCases) func aRangeOfTheUsersOwnIsReplaced(kind: SinkKind) async throws {
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

    @Test(arguments: SinkKind.allCases, [0, 1, 65_536, 3_000_001])
    func everySizeArrivesWhole(kind: SinkKind, size: Int) async throws {
        let bench = try SinkBench(kind)
        let content = GeneratedContent(size: size, seed: 5)
        bench.answer(.generated(content).entityTag("\"v1\""))
        let outcome = await bench.run()
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes ?? Data() == content.data)
    }

    @Test(arguments: SinkKind.allCases) func aRedirectIsFollowedWithTheRange(kind: SinkKind) async throws {
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
