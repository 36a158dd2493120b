import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("Downloads from several servers", .timeLimit(.minutes(3)))
struct DownloadMirrorTests {
    let fixture: DownloadFixture
    let mirror: LoopbackServer
    private static let content = GeneratedContent(size: 5 << 20, seed: 4)
    private static let right = content.sha256
    let content = content
    private let other = GeneratedContent(size: 5 << 20, seed: 5)

    init() throws {
        fixture = try DownloadFixture()
        mirror = try LoopbackServer()
    }

    private var right: String { Self.right }

    private func configuration(connections: ConnectionCount = 4) -> DownloadConfiguration {
        var configuration = fixture.configuration(retries: 1)
        configuration.connections = connections
        return configuration
    }

    private func downloader(_ url: URL, sha256: String?, connections: ConnectionCount = 4) -> Downloader {
        Downloader(
            url: url, sha256: sha256, mirrors: [mirror.url("/copy")],
            configuration: configuration(connections: connections))
    }

    private func reply(_ content: GeneratedContent, _ tag: String) -> Reply {
        .generated(content).entityTag("\"\(tag)\"")
    }

    private func expectFile(_ downloader: Downloader) async throws {
        downloader.start()
        let file = try await downloader.file()
        #expect(try content.matches(fileAt: file))
        await downloader.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished) == [])
    }

    /// Fetches the file, of which the first server sends a part, and the rest when the mirror has answered.
    ///
    /// - Parameter dropping: The rest comes when the mirror has been dropped.
    private func fetch(mirrored: Reply, dropping: Bool = false) async throws -> Downloader {
        let gate = ServerGate()
        let url = stalledURL(until: gate)
        mirror.route("/copy", mirrored)
        let downloader = downloader(url, sha256: right)
        downloader.start()
        await mirror.wait { $0.completeRequests > 0 }
        while dropping, downloader.droppedMirrors.isEmpty, !Task.isCancelled { await Task.yield() }
        gate.open()
        try await expectFile(downloader)
        return downloader
    }

    /// The first response has a part of its bytes until the gate opens, and the others all but the last one: no connection is
    /// free for what another has begun.
    private func stalledURL(until gate: ServerGate) -> URL {
        fixture.server.route(
            "/f", reply(content, "v1").stalled(afterBytes: 1 << 20, until: gate, times: 1).unfinished(until: gate))
    }

    @Test("A caller that comes second brings its mirrors and its digest", arguments: [true, false])
    func secondCaller(isExpected: Bool) async throws {
        mirror.route("/copy", reply(content, "copy"))
        let url = fixture.server.route("/f", .status(404))
        let manager = fixture.manager()
        manager.download(url, sha256: isExpected ? right : nil)
        let downloader = manager.download(url, sha256: right, mirrors: [mirror.url("/copy")])
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("A caller whose digest is malformed brings no mirrors")
    func malformedCaller() async throws {
        mirror.route("/copy", reply(content, "copy"))
        let url = fixture.server.route("/f", .status(404))
        let manager = fixture.manager()
        let malformed = manager.download(url, sha256: "junk", mirrors: [mirror.url("/copy")])
        #expect(await malformed.failure()?.code == .unknown)
        #expect(await manager.download(url, sha256: right).failure()?.code == .fileDoesNotExist)
        #expect(mirror.requests.isEmpty)
    }

    @Test("A mirror that breaks off again and again brings the whole, whatever the first server has sent")
    func progressAfterAnotherFile() async throws {
        mirror.route(
            "/copy", .computed { [content] _ in .generated(content).entityTag("\"copy\"").cut(afterBytes: 1 << 20) })
        let url = fixture.server.route("/f", reply(other, "v1"))
        try await expectFile(downloader(url, sha256: right, connections: 1))
    }

    @Test("With a digest parts are requested of all servers at the same time")
    func together() async throws {
        let downloader = try await fetch(mirrored: reply(content, "copy"))
        #expect(mirror.requests.allSatisfy { $0.fields["Range"] != nil })
        #expect(mirror.requests.first?.fields["If-Range"] == nil)
        #expect(downloader.droppedMirrors.isEmpty)
    }

    @Test("Without a digest, or with one connection, only the first server is asked", arguments: [true, false])
    func alone(hasDigest: Bool) async throws {
        let url = fixture.server.route("/f", reply(content, "v1"))
        mirror.route("/copy", reply(content, "copy"))
        try await expectFile(
            downloader(url, sha256: hasDigest ? right : nil, connections: hasDigest ? 1 : 4))
        #expect(mirror.requests.isEmpty)
    }

    @Test("Where a mirror has another file, the first server is asked for the whole")
    func otherFile() async throws {
        let downloader = try await fetch(mirrored: reply(other, "copy"))
        let asked = mirror.requests.count
        #expect(asked > 0)
        #expect(fixture.server.requests.count { $0.fields["Range"] == nil } == 2)
        #expect(downloader.currentURL == downloader.url)
    }

    @Test("Where the first server has another file, the next one is asked for the whole")
    func otherFileFirst() async throws {
        let url = fixture.server.route("/f", reply(other, "v1"))
        mirror.route("/copy", reply(content, "copy"))
        let downloader = downloader(url, sha256: right, connections: 1)
        try await expectFile(downloader)
        #expect(downloader.currentURL == mirror.url("/copy"))
        #expect(fixture.ranges == [""])
        #expect(mirror.requests.count == 1)
    }

    @Test("Where no server has the file that is expected, the download fails, and its bytes are deleted")
    func noneIsRight() async throws {
        let url = fixture.server.route("/f", reply(other, "v1"))
        mirror.route("/copy", reply(other, "copy"))
        let downloader = downloader(url, sha256: right)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.unexpectedSHA256 == other.sha256)
        #expect(error.failingURL == mirror.url("/copy"))
        await downloader.waitUntilIdle()
        #expect(!FileManager.default.fileExists(atPath: fixture.partial(downloader).path))
    }

    @Test("A server that fails for good is replaced by the next one", arguments: [404, 503])
    func failingServer(status: Int) async throws {
        let url = fixture.server.route("/f", .status(status))
        mirror.route("/copy", reply(content, "copy"))
        let downloader = downloader(url, sha256: right, connections: 1)
        try await expectFile(downloader)
        #expect(downloader.currentURL == mirror.url("/copy"))
        #expect(fixture.server.requests.count == (status == 503 ? 2 : 1))
    }

    @Test("After another URL the first one and its mirrors are asked")
    func replacedURL() async throws {
        let url = fixture.server.route("/f", .status(404))
        mirror.route("/copy", reply(content, "copy"))
        let downloader = downloader(url, sha256: right, connections: 1)
        downloader.replaceURL(with: fixture.server.url("/expired"))
        try await expectFile(downloader)
        #expect(fixture.server.requests.map(\.path) == ["/expired", "/f"])
        #expect(downloader.currentURL == mirror.url("/copy"))
    }

    @Test("When every server has failed, the error is that of the last one, without a mark in its URL")
    func allFail() async throws {
        let url = fixture.server.route("/f", .status(404))
        mirror.route("/copy", .status(410))
        let downloader = downloader(url, sha256: right)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == .fileDoesNotExist)
        #expect(error.failingURL == mirror.url("/copy"))
        #expect(error.failureSentence.contains("410"))
        #expect(mirror.requests.count == 1)
    }

    @Test("Where the first server has no ranges, the mirrors are asked for them")
    func wholeAndParts() async throws {
        let gate = ServerGate()
        let whole = reply(content, "v1").ignoringRange().stalled(afterBytes: 1 << 20, until: gate)
        let url = fixture.server.route("/f", whole)
        mirror.route("/copy", reply(content, "copy"))
        let downloader = downloader(url, sha256: right)
        downloader.start()
        // All but what the first server has begun to send.
        await downloader.hasReceived(4 << 20)
        gate.open()
        try await expectFile(downloader)
        #expect(fixture.server.requests.count { $0.fields["Range"] == nil } == 1)
        #expect(fixture.server.requests.count == 2)
    }

    @Test("A mirror without ranges, or of another length, is dropped with a reason", arguments: [true, false])
    func dropped(hasRanges: Bool) async throws {
        let shorter = GeneratedContent(size: 4 << 20, seed: 4)
        let downloader = try await fetch(
            mirrored: hasRanges ? reply(shorter, "copy") : reply(content, "copy").ignoringRange(), dropping: true)
        #expect(downloader.droppedMirrors[mirror.url("/copy")]?.hasSuffix(".") == true)
    }

    /// Leaves bytes of both servers, as a process that ended would.
    private func leave(_ url: URL, _ gate: ServerGate) async throws {
        let manager = DownloadManager(configuration: configuration())
        let first = manager.download(url, sha256: right, mirrors: [mirror.url("/copy")])
        await mirror.wait { $0.completeRequests > 0 }
        await first.hasReceived(3 << 20)
        manager.invalidate()
        await manager.waitUntilIdle()
        gate.open()
    }

    /// What the next program's requests can be known by, among those of the first.
    private func next(_ configuration: DownloadConfiguration) -> DownloadConfiguration {
        configuration.session.httpAdditionalHeaders = ["User-Agent": "next"]
        return configuration
    }

    private var nextRequests: [ReceivedRequest] {
        (fixture.server.requests + mirror.requests).filter { $0.fields["User-Agent"] == "next" }
    }

    @Test("A mirror that is dropped has the URL that it was given with, though it redirects")
    func droppedAfterRedirect() async throws {
        mirror.route(
            "/elsewhere",
            reply(content, "copy").field(
                "Content-Digest", "sha-256=:\(Data(repeating: 1, count: 32).base64EncodedString()):"))
        let downloader = try await fetch(mirrored: .redirect(302, to: "/elsewhere"), dropping: true)
        #expect(Set(downloader.droppedMirrors.keys) == [mirror.url("/copy")])
    }

    @Test("Where the bytes of two servers were complete before the attempt, the first one is asked for the whole")
    func completeBefore() async throws {
        let url = fixture.server.route("/f", reply(content, "v1").throttled(bytesPerSecond: 20 << 20))
        mirror.route("/copy", reply(other, "copy"))
        let downloader = downloader(url, sha256: right)
        downloader.start()
        for await event in downloader.events {
            if case .progress(let received, let total) = event, received == total {
                downloader.pause()
                break
            }
        }
        await downloader.waitUntilIdle()
        downloader.resume()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("The next manager knows the mirrors, and requests only what is missing")
    func relaunch() async throws {
        let gate = ServerGate()
        let url = stalledURL(until: gate)
        mirror.route("/copy", reply(content, "copy").unfinished(until: gate))
        try await leave(url, gate)
        let manager = DownloadManager(configuration: next(configuration()))
        let second = try #require(manager.downloads.first)
        let missing = content.size - Int(second.bytesReceived)
        #expect(missing <= 2 << 20)
        fixture.server.route("/f", .status(404))
        mirror.route("/copy", reply(content, "v1"))
        try await expectFile(second)
        let requested = RangeSet(nextRequests.map { $0.bytes(ofContentOf: content.size) })
        #expect(requested.ranges.reduce(0) { $0 + $1.count } == missing)
    }

    @Test("Bytes of several servers are of no use to a download that does not expect their digest")
    func withoutItem() async throws {
        let gate = ServerGate()
        let url = stalledURL(until: gate)
        mirror.route("/copy", reply(other, "copy").unfinished(until: gate))
        try await leave(url, gate)
        let alone = fixture.downloader(url)
        try FileManager.default.removeItem(at: fixture.item(alone))
        try await expectFile(Downloader(url: url, configuration: next(fixture.configuration())))
        #expect(nextRequests.map { $0.fields["Range"] } == [nil])
    }

    @Test("As many mirrors are kept as an item has room for, each once")
    func manyMirrors() throws {
        let url = fixture.server.url("/f")
        var item = DownloadItem(url: url, currentURL: url, sha256: [right], intent: .wanted, order: 1)
        let long = String(repeating: "x", count: 5_000)
        item.add([url, mirror.url("/copy"), mirror.url("/copy")])
        #expect(item.mirrors == [mirror.url("/copy")])
        item.add((0..<10).map { mirror.url("/\(long)\($0)") })
        #expect(item.mirrors.count == 4)
        item.add((0..<100).map { mirror.url("/\($0)") })
        #expect(item.mirrors.count == 32)
        let data = try item.encoded()
        let read = DownloadItem(decoding: data, fileName: DownloadPaths.fileName(of: url) + ".item")
        #expect(read == item)
        let changed = String(decoding: data, as: UTF8.self).replacingOccurrences(of: "/copy<", with: "/copx<")
        #expect(DownloadItem(decoding: Data(changed.utf8), fileName: DownloadPaths.fileName(of: url) + ".item") == nil)
    }

    @Test(
        "The URL that is recorded with bytes of several servers is marked by the digest",
        arguments: ["http://host/film", "http://host/film#part", "http://u:p@host/film?a=b#"])
    func mark(text: String) throws {
        let url = try #require(URL(string: text))
        let joined = JoinedBytes.url(of: url, under: right)
        #expect(joined != url)
        #expect(JoinedBytes.origin(of: joined) == url)
        #expect(JoinedBytes.sha256(in: joined) == right)
        #expect(JoinedBytes.origin(of: url) == url)
        #expect(JoinedBytes.sha256(in: url) == nil)
    }
}

extension Reply {
    /// Without its last byte until the gate opens.
    fileprivate func unfinished(until gate: ServerGate) -> Reply { stalled(at: .beforeLastBytes(1), until: gate) }
}
