import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("When resume data is offered", .timeLimit(.minutes(5)))
struct ResumeOfferTests {
    private let sandbox = Sandbox()

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let reply: @Sendable (Reply) -> Reply
        let request: @Sendable (URL) -> URLRequest

        init(
            _ description: String, request: @escaping @Sendable (URL) -> URLRequest = { URLRequest(url: $0) },
            _ reply: @escaping @Sendable (Reply) -> Reply
        ) {
            testDescription = description
            self.reply = reply
            self.request = request
        }
    }

    private static let date = Date(timeIntervalSince1970: 784_111_777)
    private static let sameSecond = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let nextSecond = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let secondBefore = "Sun, 06 Nov 1994 08:49:36 GMT"

    static let offered = [
        Case("a strong tag") { $0.entityTag("\"v1\"") },
        Case("a strong tag and no date") { $0.entityTag("\"\"") },
        Case("modified a second before the response") { $0.lastModified(date).field("Date", nextSecond) },
        Case("a strong tag beside a date that is not") {
            $0.entityTag("\"v1\"").lastModified(date).field("Date", sameSecond)
        },
        Case("in chunks") { $0.entityTag("\"v1\"").chunked() },
        Case("until the connection closes") { $0.entityTag("\"v1\"").untilClose() },
        Case("a coding that codes nothing") { $0.entityTag("\"v1\"").field("Content-Encoding", "identity") },
        Case("no Accept-Ranges") { $0.entityTag("\"v1\"").acceptRanges(nil) },
        Case("a date and no Accept-Ranges") {
            $0.lastModified(date).field("Date", nextSecond).acceptRanges(nil)
        },
        Case("ranges in capitals") { $0.entityTag("\"v1\"").acceptRanges("Bytes") },
    ]

    @Test("Resume data is offered when every rule holds", arguments: offered)
    func resumeData(_ offer: Case) async throws {
        let (data, partialNames) = try await PausedDownload.resumeData(reply: offer.reply, request: offer.request)
        #expect(data != nil)
        #expect(partialNames.count == 1)
    }

    @Sendable private static func post(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        return request
    }

    @Sendable private static func getWithBody(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpBody = Data("query".utf8)
        return request
    }

    @Sendable private static func getRange(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.setValue("bytes=1000-", forHTTPHeaderField: "range")
        return request
    }

    static let refused = [
        Case("a weak tag") { $0.entityTag("W/\"v1\"") },
        Case("a weak tag beside a strong date") {
            $0.entityTag("W/\"v1\"").lastModified(date).field("Date", nextSecond)
        },
        Case("a tag without quotes") { $0.entityTag("v1") },
        Case("no validator") { $0 },
        Case("modified within the response's second") { $0.lastModified(date).field("Date", sameSecond) },
        Case("modified after the response") { $0.lastModified(date).field("Date", secondBefore) },
        Case("modified some time, the response has no date") { $0.lastModified(date) },
        Case("a date that is none") { $0.field("Last-Modified", "yesterday").field("Date", nextSecond) },
        Case("Accept-Ranges: none") { $0.entityTag("\"v1\"").acceptRanges("none") },
        Case("another unit of ranges") { $0.entityTag("\"v1\"").acceptRanges("pages") },
        Case("a content coding") { $0.entityTag("\"v1\"").field("Content-Encoding", "br") },
        Case("a coding behind one that codes nothing") {
            $0.entityTag("\"v1\"").field("Content-Encoding", "identity, br")
        },
        Case("an error page") { $0.status(404).entityTag("\"v1\"").field("Accept-Ranges", "bytes") },
        Case("a POST", request: post) { $0.entityTag("\"v1\"") },
        Case("a GET with a body", request: getWithBody) { $0.entityTag("\"v1\"") },
        Case("a range of the request's own", request: getRange) { $0.entityTag("\"v1\"") },
    ]

    @Test("No resume data is offered when a rule is broken", arguments: refused)
    func noResumeData(_ refusal: Case) async throws {
        let (data, partialNames) = try await PausedDownload.resumeData(reply: refusal.reply, request: refusal.request)
        #expect(data == nil)
        #expect(partialNames == [])
    }

    @Test("The error of a failed transfer has no resume data when a rule is broken", arguments: refused)
    func noneInError(_ refusal: Case) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", refusal.reply(.generated(size: 300_000)).cut(afterBytes: 100_000))
        let witness = Witness()
        let task = sandbox.session(witness).downloadTask(with: refusal.request(url)).resumed()
        await witness.completion()
        // A body without a length ends with the connection, wherever that is.
        expectError(witness.error(of: task), .networkConnectionLost, about: url)
        #expect(witness.error(of: task)?.downloadTaskResumeData == nil)
        #expect(sandbox.partialNames == [])
    }

    @Test("Without a body byte there is no resume data")
    func noByte() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route("/file", .generated(size: 1_000).entityTag("\"v1\"").stalled(afterBytes: 0, until: gate))
        let witness = Witness()
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        await gate.reached()
        #expect(await task.cancelByProducingResumeData() == nil)
        await witness.completion()
        expectError(witness.error(of: task), .cancelled, about: url)
        #expect(sandbox.partialNames == [])
        gate.open()
    }

    @Test("A strong Last-Modified is a validator for If-Range", arguments: [true, false])
    func strongDate(isUnchanged: Bool) async throws {
        let paused = try await PausedDownload { $0.lastModified(Self.date).field("Date", Self.nextSecond) }
        let content = GeneratedContent(size: 300_000, seed: isUnchanged ? 3 : 4)
        paused.answer(
            .generated(content).lastModified(isUnchanged ? Self.date : Self.date + 1).field("Date", Self.nextSecond))
        let outcome = await paused.resume()
        #expect(outcome.file == content.data)
        #expect(outcome.resumedAt == [isUnchanged ? 100_000 : 0])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == [Self.sameSecond])
    }

    @Test("A part with another Last-Modified is not appended")
    func otherDate() async throws {
        let paused = try await PausedDownload { $0.lastModified(Self.date).field("Date", Self.nextSecond) }
        let good = Reply.generated(paused.content).lastModified(Self.date)
        paused.answer(.sequence([good.replacingField("Last-Modified", Self.secondBefore), good]))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [0])
        #expect(paused.ranges == ["bytes=100000-", nil])
    }
}
