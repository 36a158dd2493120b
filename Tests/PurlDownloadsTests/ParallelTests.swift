import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import PurlDownloads

/// A file is not divided into parts of less.
private let share = 128 << 10

@Suite("Several connections for one file", .timeLimit(.minutes(5)))
struct ParallelTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 6 * share, seed: 7)
    let other = GeneratedContent(size: 6 * share, seed: 8)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    private func held(by gate: ServerGate, _ ranges: @escaping @Sendable (Reply) -> Reply = { $0 }) -> Reply {
        DownloadFixture.held(reply, by: gate, ranges)
    }

    private func downloader(
        _ url: URL, connections: ConnectionCount = 4, sha256: String? = nil, retries: Int = 3
    ) -> Downloader {
        var configuration = fixture.configuration(retries: retries)
        configuration.connections = connections
        configuration.connections.leastShare = Int64(share)
        return Downloader(url: url, sha256: sha256, configuration: configuration)
    }

    private func fetch(_ downloader: Downloader) async throws -> URL {
        downloader.start()
        return try await downloader.file()
    }

    /// The bytes that requests ask for: first and, where it is given, last.
    private static func bounds(_ range: String) -> (first: Int, last: Int?)? {
        let numbers = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        return numbers.first.map { ($0, numbers.count > 1 ? numbers[1] : nil) }
    }

    /// The response to the request for the whole does not end before so many others have been received.
    private func fetch(_ url: URL, holdingLeaderUntil requests: Int, _ gate: ServerGate) async throws -> URL {
        async let file = fetch(downloader(url))
        _ = await fixture.server.waitForRequests(1 + requests)
        gate.open()
        return try await file
    }

    @Test("Each connection requests an equal share of the version that the first one has found")
    func shares() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate))
        #expect(try content.matches(fileAt: try await fetch(url, holdingLeaderUntil: 3, gate)))
        let requests = fixture.server.requests
        #expect(requests.first?.fields["Range"] == nil)
        #expect(requests.count >= 4)
        for request in requests.dropFirst() {
            #expect(request.fields["If-Range"] == "\"v1\"")
            #expect(request.fields["Accept-Encoding"] == "identity")
            #expect(Self.bounds(request.fields["Range"] ?? "")?.last != nil)
        }
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test(
        "Without a length, a strong validator or ranges there is one connection",
        arguments: [
            Reply.generated(GeneratedContent(size: 6 * share, seed: 7)),
            Reply.generated(GeneratedContent(size: 6 * share, seed: 7)).entityTag("W/\"v1\""),
            Reply.generated(GeneratedContent(size: 6 * share, seed: 7)).entityTag("\"v1\"").acceptRanges("none"),
            Reply.generated(GeneratedContent(size: 6 * share, seed: 7)).entityTag("\"v1\"").chunked(),
            Reply.generated(GeneratedContent(size: 6 * share, seed: 7)).entityTag("\"v1\"").untilClose(),
            Reply.generated(GeneratedContent(size: 6 * share, seed: 7)).entityTag("\"\u{E9}\""),
        ])
    func one(reply: Reply) async throws {
        let url = fixture.server.route("/f", reply)
        #expect(try content.matches(fileAt: try await fetch(downloader(url))))
        #expect(fixture.ranges == [""])
    }

    @Test("A file of less than two shares is not divided")
    func short() async throws {
        let content = GeneratedContent(size: 2 * share - 1, seed: 7)
        let url = fixture.server.route("/f", .generated(content).entityTag("\"v1\""))
        #expect(try content.matches(fileAt: try await fetch(downloader(url))))
        #expect(fixture.ranges == [""])
    }

    /// What a server does with one of the requests for a range.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (Reply) -> Reply

        init(_ name: String, _ change: @escaping @Sendable (Reply) -> Reply) {
            testDescription = name
            self.change = change
        }
    }

    static let faults = [
        Fault("200 with the same tag") { $0.ignoringRange() },
        Fault("200 with another tag") { $0.ignoringRange().entityTag("\"v2\"") },
        Fault("206 with another tag") { $0.ignoringIfRange().entityTag("\"v2\"") },
        Fault("206 with a weak tag") { $0.replacingField("ETag", "W/\"v1\"") },
        Fault("206 without a tag") { $0.replacingField("ETag", nil) },
        Fault("206 with another total") { $0.replacingField("Content-Range", "bytes 196608-393215/99999999") },
        Fault("206 without a range") { $0.replacingField("Content-Range", nil) },
        Fault("206 with a range of another unit") { $0.replacingField("Content-Range", "items 0-1/2") },
        Fault("416") { $0.rangeNotSatisfiable() },
        Fault("416 without a length") { $0.rangeNotSatisfiableWithoutLength() },
        Fault("multipart") { $0.multipartRanges() },
        Fault("an earlier range") { $0.range(.startShifted(by: -1000)) },
        Fault("a later range") { $0.range(.startShifted(by: 1000)) },
        Fault("a shorter range") { $0.range(.shortened(to: 1000)) },
        Fault("a length too long") { $0.contentLength(.off(by: 1000)) },
        Fault("a length too short") { $0.contentLength(.off(by: -1000)) },
        Fault("a coding") { $0.replacingField("Content-Encoding", "gzip") },
        Fault("412") { _ in .status(412) },
        Fault("403") { _ in .status(403) },
        Fault("404") { _ in .status(404) },
        Fault("429") { _ in .status(429) },
        Fault("503 for a while") { _ in Reply.status(503).field("Retry-After", "0") },
        Fault("a redirect") { _ in .redirect(to: "/elsewhere") },
        Fault("an empty 206") { _ in Reply.status(206).entityTag("\"v1\"") },
        Fault("cut at once") { $0.cut(at: .afterBodyBytes(0)) },
        Fault("cut in the middle") { $0.cut(at: .midBody) },
        Fault("reset before the head") { $0.reset(at: .beforeHead) },
        Fault("chunked") { $0.chunked(size: 1000) },
        Fault("chunked and cut") { $0.chunked(size: 1000).cut(at: .midBody) },
    ]

    @Test("What one range cannot prove is dropped, and the file is right", arguments: faults, [1, 2, 3])
    func oneRange(fault: Fault, position: Int) async throws {
        let count = Mutex(0)
        let gate = ServerGate()
        let url = fixture.server.route(
            "/f",
            held(by: gate) { reply in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number == position ? fault.change(reply) : reply
            })
        #expect(try content.matches(fileAt: try await fetch(url, holdingLeaderUntil: position, gate)))
    }

    @Test("What every range gets wrong leaves one connection", arguments: faults)
    func everyRange(fault: Fault) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate, fault.change))
        // The leader brings everything, or a broken connection is resumed as one that is the only one.
        #expect(try content.matches(fileAt: try await fetch(url, holdingLeaderUntil: 1, gate)))
    }

    @Test("A version that changes while it is divided is replaced as a whole", arguments: 1...4)
    func newVersion(after requests: Int) async throws {
        let gate = ServerGate()
        let new = Reply.generated(other).entityTag("\"v2\"")
        let old = reply.stalled(afterBytes: 1000, until: gate)
        let url = fixture.server.route("/f", old.switching(after: requests, to: new))
        let file = try await fetch(url, holdingLeaderUntil: 1, gate)
        let isOld = try content.matches(fileAt: file)
        let isNew = try other.matches(fileAt: file)
        #expect(isOld != isNew)
    }

    @Test("A version of another length replaces the one that is divided")
    func newLength() async throws {
        let longer = GeneratedContent(size: 7 * share, seed: 9)
        let gate = ServerGate()
        let old = reply.stalled(afterBytes: 1000, until: gate)
        let url = fixture.server.route(
            "/f", old.switching(after: 2, to: Reply.generated(longer).entityTag("\"v2\"")))
        #expect(try longer.matches(fileAt: try await fetch(url, holdingLeaderUntil: 1, gate)))
    }

    @Test("Tags that differ per request are never mixed")
    func freshTags() async throws {
        let gate = ServerGate()
        let url = fixture.server.route(
            "/f", Reply.generated(content).freshEntityTags().stalled(afterBytes: 1000, until: gate))
        #expect(try content.matches(fileAt: try await fetch(url, holdingLeaderUntil: 1, gate)))
    }

    @Test(
        "A paused download resumes with all ranges, and requests no byte twice", arguments: [1, 4] as [ConnectionCount])
    func pause(connections: ConnectionCount) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate) { $0.stalled(at: .midBody, until: gate) })
        let first = downloader(url)
        first.start()
        await gate.reached(times: 4)
        // Half of three shares of a quarter.
        let present = Int64(content.size) / 3
        await first.hasReceived(present)
        first.pause()
        await first.waitUntilIdle()
        let kept = first.bytesReceived
        #expect(kept >= present)
        let parts = try #require(
            ResumeRecord(contentsOf: fixture.record(first), of: fixture.partial(first))?.ranges(
                inFileAt: fixture.partial(first)))
        #expect(parts.reduce(0) { $0 + Int64($1.count) } == kept)
        fixture.server.forgetRequests()
        gate.open()

        let second = downloader(url, connections: connections)
        #expect(second.bytesReceived == kept)
        #expect(second.totalBytes == Int64(content.size))
        #expect(try content.matches(fileAt: try await fetch(second)))
        #expect(fixture.ranges.allSatisfy { !$0.isEmpty })
        #expect(fixture.server.requests.allSatisfy { $0.fields["If-Range"] == "\"v1\"" })
        let requested = fixture.ranges.compactMap(Self.bounds).map { first, last in
            Int64(first)..<Int64(last.map { $0 + 1 } ?? content.size)
        }
        for range in requested { #expect(!parts.contains { $0.overlaps(range) }) }
        if connections == 1 {
            // One request for each hole, and nothing else.
            #expect(requested.map(\.lowerBound) == parts.map(\.upperBound).filter { $0 < Int64(content.size) })
            #expect(requested.reduce(0) { $0 + Int64($1.count) } == Int64(content.size) - kept)
        }
    }

    /// A response to the request for a range that is not as long as it says, in chunks that say nothing about it.
    @Test(
        "A range in chunks that is too short or too long is not requested for ever, and leaves no wrong byte",
        arguments: [0, 1000, 1_000_000], [true, false])
    func chunkedLength(count: Int, isOfRange: Bool) async throws {
        let (reply, content) = (reply, content)
        let gate = ServerGate()
        let url = fixture.server.route(
            "/f",
            .computed { request in
                guard let bounds = Self.bounds(request.fields["Range"] ?? ""), let last = bounds.last else {
                    return reply.stalled(afterBytes: 1000, until: gate)
                }
                let start = isOfRange ? bounds.first : 0
                return Reply.bytes(content.bytes(start..<start + count)).status(206).entityTag("\"v1\"")
                    .ignoringRange().field("Content-Range", "bytes \(bounds.first)-\(last)/\(content.size)").chunked(
                        size: 1000)
            })
        #expect(try content.matches(fileAt: try await fetch(url, holdingLeaderUntil: 1, gate)))
        #expect(fixture.ranges.count < 10)
    }

    @Test("A server that breaks each range after a few bytes is not asked for each of them", arguments: [1, 700])
    func fewBytes(count: Int) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate) { $0.cut(afterBytes: count) })
        #expect(try content.matches(fileAt: try await fetch(url, holdingLeaderUntil: 1, gate)))
        #expect(fixture.server.requests.count < 40)
    }

    @Test("Bytes that another program has cut are not used")
    func cut() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate) { $0.stalled(at: .midBody, until: gate) })
        let first = downloader(url)
        first.start()
        await gate.reached(times: 4)
        await first.hasReceived(Int64(content.size) / 3)
        first.pause()
        await first.waitUntilIdle()
        gate.open()
        let file = try FileHandle(forWritingTo: fixture.partial(first))
        try file.truncate(atOffset: UInt64(content.size))
        try file.close()
        #expect(try content.matches(fileAt: try await fetch(downloader(url))))
    }

    @Test("A new version replaces what several connections have left")
    func resumedNewVersion() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate) { $0.stalled(at: .midBody, until: gate) })
        let first = downloader(url)
        first.start()
        await gate.reached(times: 4)
        await first.hasReceived(Int64(content.size) / 3)
        first.pause()
        await first.waitUntilIdle()
        gate.open()
        _ = fixture.server.route("/f", Reply.generated(other).entityTag("\"v2\""))
        #expect(try other.matches(fileAt: try await fetch(downloader(url))))
    }

    @Test("A cancelled download can be cancelled from inside an event, and resumed")
    func cancelInside() async throws {
        let url = fixture.server.route("/f", reply)
        let first = downloader(url)
        first.observe { event in
            if case .progress(let received, _) = event, received > 100_000 { first.cancel() }
        }
        first.start()
        _ = await first.failure()
        await first.waitUntilIdle()
        #expect(try content.matches(fileAt: try await fetch(downloader(url))))
    }
}
