import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The response to the request for the rest of a download", .timeLimit(.minutes(5)))
struct ResumeAnswerTests {
    /// A response: its description, and the change that makes it from the matching one.
    struct Answer: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let reply: @Sendable (Reply) -> Reply

        init(_ description: String, _ reply: @escaping @Sendable (Reply) -> Reply) {
            testDescription = description
            self.reply = reply
        }
    }

    static let fitting = [
        Answer("a plain 206") { $0 },
        Answer("no total") { $0.contentRange(.total(nil)) },
        Answer("no Accept-Ranges in the 206") { $0.acceptRanges(nil) },
        Answer("in chunks") { $0.chunked(size: 1_000) },
        Answer("until the connection closes") { $0.untilClose() },
        Answer("in many pieces") { $0.inPieces(of: 4_096) },
        Answer("after an interim response") { $0.interim(103) },
        Answer("a coding that codes nothing") { $0.field("Content-Encoding", "identity") },
    ]

    @Test("A matching part is appended", arguments: fitting)
    func fittingPart(_ answer: Answer) async throws {
        let paused = try await PausedDownload()
        paused.answer(answer.reply(paused.sameResource))
        let outcome = await paused.resume()
        #expect(
            outcome.events == [
                .resumed(at: 100_000, of: 300_000), .wrote(300_000, of: 300_000), .file(300_000), .completed(nil),
            ])
        #expect(outcome.file == paused.content.data)
        #expect(paused.ranges == ["bytes=100000-"])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == ["\"v1\""])
        #expect(paused.sandbox.partialNames == [])
    }

    private static let newer = GeneratedContent(size: 250_000, seed: 8)

    static let whole: [(answer: Answer, content: GeneratedContent)] = [
        (
            Answer("the server says that it has no ranges") { $0.ignoringRange().acceptRanges("none") },
            .init(size: 300_000, seed: 3)
        ),
        (Answer("another tag") { _ in .generated(newer).entityTag("\"v2\"") }, newer),
        (Answer("a weak tag now") { _ in .generated(newer).entityTag("W/\"v1\"") }, newer),
        (Answer("no tag any more") { _ in .generated(newer).acceptRanges(nil) }, newer),
        (Answer("in chunks, without a length") { _ in .generated(newer).entityTag("\"v2\"").chunked() }, newer),
        (
            Answer("the same in chunks, without a length") { $0.ignoringRange().chunked() },
            .init(size: 300_000, seed: 3)
        ),
        (
            Answer("the same until the connection closes") { $0.ignoringRange().untilClose() },
            .init(size: 300_000, seed: 3)
        ),
        (Answer("until the connection closes") { _ in .generated(newer).entityTag("\"v2\"").untilClose() }, newer),
        (
            Answer("shorter than what there was") { _ in .generated(size: 70_000, seed: 8).entityTag("\"v2\"") },
            .init(size: 70_000, seed: 8)
        ),
        (Answer("empty now") { _ in .generated(size: 0).entityTag("\"v2\"") }, .init(size: 0)),
    ]

    @Test("A whole response starts over", arguments: whole)
    func wholeResponse(_ row: (answer: Answer, content: GeneratedContent)) async throws {
        let paused = try await PausedDownload()
        paused.answer(row.answer.reply(paused.sameResource))
        let outcome = await paused.resume()
        #expect(outcome.file == row.content.data)
        #expect(outcome.resumedAt == [0])
        #expect(outcome.events.last == .completed(nil))
        // One request is enough: its response is the new content.
        #expect(paused.ranges == ["bytes=100000-"])
        #expect(paused.sandbox.partialNames == [])
    }

    static let unusable = [
        Answer("a 206 that starts one byte late") { $0.contentRange(.shifted(by: 1)) },
        Answer("no tag in the 206") { $0.replacingField("ETag", nil) },
        Answer("a date in place of the tag") {
            $0.replacingField("ETag", nil).lastModified(Date(timeIntervalSince1970: 784_111_777))
        },
        Answer("a longer total") { $0.contentRange(.total(300_001)) },
        Answer("a shorter total") { $0.contentRange(.total(299_999)) },
        Answer("no Content-Range") { $0.contentRange(.missing) },
        Answer("too short an end") { $0.contentRange(.literal("bytes 100000-299998/300000")) },
        Answer("an end beyond the total") { $0.contentRange(.literal("bytes 100000-300000/300000")) },
        Answer("another unit") { $0.contentRange(.literal("pages 100000-299999/300000")) },
        Answer("nonsense") { $0.contentRange(.literal("bytes minus one")) },
        Answer("numbers beyond 64 bits") {
            $0.contentRange(.literal("bytes 100000-99999999999999999999/99999999999999999999"))
        },
        Answer("a 206 without a range") { $0.contentRange(.literal("bytes */300000")) },
        Answer("another tag in the 206") { $0.replacingField("ETag", "\"v2\"") },
        Answer("a weak tag in the 206") { $0.replacingField("ETag", "W/\"v1\"") },
        Answer("a broken tag in the 206") { $0.replacingField("ETag", "v1") },
        Answer("a coded 206") { $0.field("Content-Encoding", "gzip") },
        Answer("a length that is not that of the range") { $0.replacingField("Content-Length", "5") },
        Answer("416 with another length") { _ in .generated(size: 90_000).rangeNotSatisfiable() },
        Answer("416 with the same length") { $0.rangeNotSatisfiable() },
        Answer("416 without a Content-Range") { $0.rangeNotSatisfiable().replacingField("Content-Range", nil) },
        Answer("416 with the partial file's length") {
            $0.rangeNotSatisfiable().replacingField("Content-Range", "bytes */100000")
        },
    ]

    @Test("A response that does not match is never appended, and the download starts over", arguments: unusable)
    func unusablePart(_ answer: Answer) async throws {
        let paused = try await PausedDownload()
        paused.answer(.sequence([answer.reply(paused.sameResource), paused.sameResource]))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [0])
        #expect(outcome.events.last == .completed(nil))
        #expect(paused.ranges == ["bytes=100000-", nil])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == ["\"v1\"", nil])
        #expect(paused.sandbox.partialNames == [])
    }

    // MARK: A part of what was asked for

    /// Sends at most `length` bytes of what is asked for, from `early` bytes before it.
    static func parts(of content: GeneratedContent, length: Int, early: Int = 0) -> Reply {
        .computed { request in
            let asked = request.fields["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            let range = max(0, asked - early)..<min(content.size, asked + length)
            return Reply.bytes(content.bytes(range)).status(206)
                .field("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.size)")
                .entityTag(PausedDownload.tag)
        }
    }

    @Test("A part of the rest is appended, and what follows is requested", arguments: [0, 1, 70_000, 100_000])
    func partOfTheRest(early: Int) async throws {
        let paused = try await PausedDownload()
        paused.answer(Self.parts(of: paused.content, length: 80_000, early: early))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
        #expect(outcome.events.last == .completed(nil))
        #expect(paused.ranges == ["bytes=100000-", "bytes=180000-", "bytes=260000-"])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == Array(repeating: "\"v1\"", count: 3))
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("A resource that changes between two parts is requested as a whole")
    func changeBetweenParts() async throws {
        let paused = try await PausedDownload()
        let newer = Reply.generated(Self.newer).entityTag("\"v2\"")
        paused.answer(.sequence([Self.parts(of: paused.content, length: 80_000), newer]))
        let outcome = await paused.resume()
        #expect(outcome.file == Self.newer.data)
        #expect(outcome.events.last == .completed(nil))
        #expect(paused.ranges == ["bytes=100000-", "bytes=180000-"])
    }

    @Test(
        "A part that starts earlier with other bytes than those there are is not used",
        arguments: [
            Reply.ContentRangeFault.shifted(by: -1), .literal("bytes 0-199999/300000"),
            .literal("bytes 50000-249999/300000"),
        ])
    func falseOverlap(fault: Reply.ContentRangeFault) async throws {
        let paused = try await PausedDownload()
        paused.answer(.sequence([paused.sameResource.contentRange(fault), paused.sameResource]))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.events.last == .completed(nil))
        #expect(paused.ranges == ["bytes=100000-", nil])
        #expect(paused.sandbox.partialNames == [])
    }

    // MARK: If-Match

    @Test("A whole response under the same tag is left, and the rest requested with If-Match")
    func sameTag() async throws {
        let paused = try await PausedDownload()
        paused.answer(.sequence([paused.sameResource.ignoringRange(), paused.sameResource]))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
        #expect(outcome.events.last == .completed(nil))
        #expect(paused.ranges == ["bytes=100000-", "bytes=100000-"])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == ["\"v1\"", nil])
        #expect(paused.server.requests.map { $0.fields["If-Match"] } == [nil, "\"v1\""])
    }

    static let toIfMatch: [(answer: Answer, ranges: [String?])] = [
        (Answer("the whole again") { $0.ignoringRange() }, ["bytes=100000-", "bytes=100000-"]),
        (Answer("412") { _ in .status(412) }, ["bytes=100000-", "bytes=100000-", nil]),
        (Answer("501") { _ in .status(501) }, ["bytes=100000-", "bytes=100000-", nil]),
        (
            Answer("a 206 of another tag") { $0.replacingField("ETag", "\"v2\"") },
            ["bytes=100000-", "bytes=100000-", nil]
        ),
        (Answer("a 206 without a tag") { $0.replacingField("ETag", nil) }, ["bytes=100000-", "bytes=100000-", nil]),
    ]

    @Test("What does not continue the download after If-Match starts it over, once", arguments: toIfMatch)
    func afterIfMatch(_ row: (answer: Answer, ranges: [String?])) async throws {
        let paused = try await PausedDownload()
        paused.answer(
            .sequence([paused.sameResource.ignoringRange(), row.answer.reply(paused.sameResource), paused.sameResource])
        )
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [0])
        #expect(outcome.events.last == .completed(nil))
        #expect(paused.ranges == row.ranges)
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("A 206 to a request without a range fails with badServerResponse and keeps the resume data")
    func unrequestedPart() async throws {
        let paused = try await PausedDownload()
        paused.answer(
            .generated(paused.content).status(206).field("Content-Range", "bytes 7-299999/300000")
                .entityTag(PausedDownload.tag))
        let outcome = await paused.resume()
        expectError(outcome.error, .badServerResponse, about: paused.server.url(PausedDownload.path))
        #expect(outcome.events == [.completed(.badServerResponse)])
        paused.answer(paused.sameResource)
        let blob = try #require(outcome.error?.downloadTaskResumeData)
        #expect(await paused.resume(blob).file == paused.content.data)
    }

    // MARK: 416 for a complete file

    /// All bytes were received, but not the end of the message: the client does not know the length.
    private func pausedAtTheEnd() async throws -> PausedDownload {
        try await PausedDownload(at: 300_000) { $0.entityTag(PausedDownload.tag).chunked(size: 60_000) }
    }

    @Test("A 416 with the partial file's length completes the download")
    func complete() async throws {
        let paused = try await pausedAtTheEnd()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume()
        #expect(outcome.events == [.resumed(at: 300_000, of: 300_000), .file(300_000), .completed(nil)])
        #expect(outcome.file == paused.content.data)
        #expect(paused.ranges == ["bytes=300000-"])
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("The body of a 416 is not written to the file")
    func bodyOf416() async throws {
        let paused = try await pausedAtTheEnd()
        paused.answer(
            .text("no such range").status(416).field("Content-Range", "bytes */300000").entityTag(PausedDownload.tag))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.events.last == .completed(nil))
    }

    @Test(
        "A 416 with another length starts over",
        arguments: ["bytes */299999", "bytes */300001", "bytes */*", "bytes 0-1/300000", ""])
    func otherLength(contentRange: String) async throws {
        let paused = try await pausedAtTheEnd()
        let newer = GeneratedContent(size: 200_000, seed: 4)
        let refusal = Reply.status(416).field("Content-Range", contentRange).entityTag(PausedDownload.tag)
        paused.answer(.sequence([refusal, .generated(newer).entityTag("\"v2\"")]))
        let outcome = await paused.resume()
        #expect(outcome.file == newer.data)
        #expect(outcome.resumedAt == [0])
        #expect(paused.ranges == ["bytes=300000-", nil])
    }

    @Test("A 416 with another entity tag starts over")
    func otherTag() async throws {
        let paused = try await pausedAtTheEnd()
        let newer = GeneratedContent(size: 300_000, seed: 4)
        let changed = Reply.generated(newer).entityTag("\"v2\"")
        paused.answer(.sequence([changed.rangeNotSatisfiable(), changed]))
        let outcome = await paused.resume()
        #expect(outcome.file == newer.data)
        #expect(outcome.resumedAt == [0])
    }

    // MARK: Bodies of the wrong length

    @Test(
        "A part shorter or longer than its Content-Range fails and never gives a wrong file",
        arguments: [-50_000, -1, 1, 50_000])
    func wrongLength(surplus: Int) async throws {
        let paused = try await PausedDownload()
        let longer = GeneratedContent(size: 400_000, seed: 3)
        var raw = Data("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 100000-299999/300000\r\n\r\n".utf8)
        raw += longer.bytes(100_000..<(300_000 + surplus))
        paused.answer(.raw([raw], then: .close))
        let outcome = await paused.resume()
        #expect(outcome.file == nil)
        #expect(outcome.error?.failureSentence.isEmpty == false)
        #expect(outcome.error?.failingURL == paused.server.url(PausedDownload.path))
        // If there is resume data, it leads to the right file.
        paused.answer(paused.sameResource)
        if let blob = outcome.error?.downloadTaskResumeData {
            let second = await paused.resume(blob)
            #expect(second.file == paused.content.data)
        }
        #expect(paused.sandbox.partialNames == [])
    }
}
