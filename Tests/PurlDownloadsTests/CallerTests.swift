import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("Callers that expect digests", .timeLimit(.minutes(3)))
struct CallerTests {
    let fixture: DownloadFixture
    let gate = ServerGate()
    let content = GeneratedContent(size: 60_000, seed: 4)

    init() throws { fixture = try DownloadFixture() }

    private var right: String { content.sha256 }
    private let wrong = String(repeating: "07", count: 32)
    private let wrongToo = String(repeating: "a5", count: 32)
    private var reply: Reply { .generated(content).entityTag("\"v1\"") }
    private var digested: Reply { reply.field("Repr-Digest", content.digestField) }
    private var stalled: Reply { reply.stalled(afterBytes: 20_000, until: gate) }

    /// The caller receives an error that names the digest it expected and the file's.
    private func expectMismatch(_ downloader: Downloader, _ expected: String) async throws {
        let error = try #require(await downloader.failure())
        #expect(error.code == .badServerResponse)
        #expect(error.unexpectedSHA256 == right)
        #expect(error.failureSentence.contains(right))
        #expect(error.failureSentence.contains(expected))
        #expect(downloader.state.kind == .failed)
    }

    private func expectFile(_ downloader: Downloader) async throws {
        let file = try await downloader.file()
        #expect(downloader.state.kind == .finished)
        #expect(try content.matches(fileAt: file))
    }

    /// An earlier process expected `sha256` and ended after 20,000 bytes.
    private func leave(_ url: URL, expecting sha256: String) async {
        let manager = fixture.manager()
        let download = manager.download(url, sha256: sha256)
        await gate.reached()
        await download.hasReceived(20_000)
        manager.invalidate()
        await manager.waitUntilIdle()
        gate.open()
    }

    // MARK: Remembered digests

    @Test("A remembered digest does not win over the caller's", arguments: [true, false])
    func remembered(isInManager: Bool) async throws {
        let url = fixture.server.route("/f", stalled)
        await leave(url, expecting: wrong)
        let manager = fixture.manager()
        let download = isInManager ? manager.download(url, sha256: right) : fixture.downloader(url, sha256: right)
        download.start()
        try await expectFile(download)
        #expect(fixture.ranges == ["", "bytes=20000-"])
    }

    @Test("A caller's wrong digest does not delete the file that has the remembered one")
    func rememberedRight() async throws {
        let url = fixture.server.route("/f", stalled)
        await leave(url, expecting: right)
        let manager = fixture.manager()
        let listed = try #require(manager.downloader(for: url))
        try await expectMismatch(manager.download(url, sha256: wrong), wrong)
        try await expectFile(listed)
        #expect(fixture.ranges == ["", "bytes=20000-"])
    }

    @Test("A download that is only resumed is checked against the remembered digests", arguments: [true, false])
    func resumed(isRight: Bool) async throws {
        let url = fixture.server.route("/f", stalled)
        await leave(url, expecting: wrong)
        if isRight {
            let manager = fixture.manager()
            manager.pauseAll()
            let download = manager.download(url, sha256: right)
            download.pause()
            manager.invalidate()
            await manager.waitUntilIdle()
        }
        let manager = fixture.manager()
        manager.resumeAll()
        let download = manager.download(url)
        if isRight {
            try await expectFile(download)
        } else {
            try await expectMismatch(download, wrong)
            await download.waitUntilIdle()
            #expect(fixture.names(in: fixture.finished).isEmpty)
            #expect(!FileManager.default.fileExists(atPath: fixture.partial(download).path))
        }
    }

    // MARK: Several callers

    @Test(
        "Two callers that expect different digests share one transfer; one has its file, the other its error",
        arguments: [true, false])
    func two(isRightFirst: Bool) async throws {
        let url = fixture.server.route("/f", stalled)
        let manager = fixture.manager()
        let first = manager.download(url, sha256: isRightFirst ? right : wrong)
        await gate.reached()
        let second = manager.download(url, sha256: isRightFirst ? wrong : right)
        #expect(manager.downloads.count == 1)
        gate.open()
        try await expectMismatch(isRightFirst ? second : first, wrong)
        try await expectFile(isRightFirst ? first : second)
        #expect(fixture.server.requests.count == 1)
        #expect(manager.downloads.isEmpty)
    }

    @Test("Each of two callers whose digests are both wrong receives an error with its own, and the bytes are deleted")
    func bothWrong() async throws {
        let url = fixture.server.route("/f", stalled)
        let manager = fixture.manager()
        let first = manager.download(url, sha256: wrong)
        let second = manager.download(url, sha256: wrongToo)
        gate.open()
        try await expectMismatch(first, wrong)
        try await expectMismatch(second, wrongToo)
        await manager.waitUntilIdle()
        #expect(fixture.names(in: fixture.finished).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.partial(first).path))
    }

    @Test(
        "A caller without a digest has the file that another caller's digest vouches for, whenever it comes",
        arguments: [0, 1, 2])
    func oneWithout(position: Int) async throws {
        let url = fixture.server.route("/f", stalled)
        let manager = fixture.manager()
        var digests: [String?] = [wrong, right]
        digests.insert(nil, at: position)
        var downloaders: [String?: Downloader] = [:]
        for digest in digests {
            downloaders[digest] = manager.download(url, sha256: digest)
            // The others come during the transfer.
            await gate.reached()
        }
        let plain = try #require(downloaders[nil])
        let checked = try #require(downloaders[right])
        let mistaken = try #require(downloaders[wrong])
        gate.open()
        try await expectFile(plain)
        try await expectFile(checked)
        try await expectMismatch(mistaken, wrong)
    }

    @Test("The same digest in either case of letters is one downloader, and so is none")
    func identity() async throws {
        let url = fixture.server.route("/f", stalled)
        let manager = fixture.manager()
        let first = manager.download(url, sha256: right)
        #expect(manager.download(url, sha256: right.uppercased()) === first)
        let plain = manager.download(url)
        #expect(plain !== first)
        #expect(manager.download(url) === plain)
        #expect(manager.downloader(for: url) === first)
        #expect(manager.download(url, sha256: wrong) !== first)
        gate.open()
        try await expectFile(first)
    }

    @Test("Listeners of either caller receive the progress, and their own end")
    func listeners() async throws {
        let url = fixture.server.route("/f", reply.delayed(until: gate))
        let manager = fixture.manager()
        let events = [right, wrong].map { manager.download(url, sha256: $0).events }
        gate.open()
        var ends: [[String]] = []
        for stream in events {
            var texts: [String] = []
            for await event in stream { texts.append(event.text) }
            #expect(texts.contains("total 60000"))
            ends.append(texts.suffix(3))
        }
        #expect(ends[0] == ["progress 60000/60000", "finished", "succeeded 60000"])
        #expect(ends[1] == ["progress 60000/60000", "failed", "failed for good"])
    }

    @Test("A caller whose text is not a digest does not disturb the download")
    func malformed() async throws {
        let url = fixture.server.route("/f", stalled)
        let manager = fixture.manager()
        let download = manager.download(url, sha256: right)
        let malformed = manager.download(url, sha256: "abc")
        malformed.cancelAndDelete()
        #expect(await malformed.failure()?.failureSentence.contains("abc") == true)
        #expect(manager.downloads.first === download)
        gate.open()
        try await expectFile(download)
        #expect(manager.download(fixture.server.url("/other"), sha256: "abc").state.kind == .failed)
        #expect(manager.downloads.isEmpty)
    }

    // MARK: After the end

    @Test("A caller who comes after the end is checked against its own digest, and the finished file stays")
    func afterwards() async throws {
        let url = fixture.server.route("/f", reply)
        let manager = fixture.manager()
        try await expectFile(manager.download(url, sha256: right))
        try await expectFile(manager.download(url, sha256: right))
        try await expectFile(manager.download(url))
        #expect(fixture.server.requests.count == 1)
        try await expectMismatch(manager.download(url, sha256: wrong), wrong)
        try await expectFile(manager.download(url, sha256: right))
        let file = try #require(manager.finishedFile(for: url))
        #expect(try content.matches(fileAt: file))
    }

    @Test("A downloader whose digest the finished file does not have can be started again", arguments: [true, false])
    func again(isInManager: Bool) async throws {
        let other = GeneratedContent(size: 50_000, seed: 9)
        let url = fixture.server.route("/f", stalled.switching(after: 1, to: .generated(other).entityTag("\"v2\"")))
        let otherDigest = other.sha256
        let manager = fixture.manager()
        let download: Downloader
        if isInManager {
            let first = manager.download(url, sha256: right)
            download = manager.download(url, sha256: otherDigest)
            gate.open()
            try await expectFile(first)
        } else {
            await leave(url, expecting: right)
            // The rest of the first version.
            fixture.server.route("/f", reply.switching(after: 1, to: .generated(other).entityTag("\"v2\"")))
            download = fixture.downloader(url, sha256: otherDigest)
            download.start()
        }
        try await expectMismatch(download, otherDigest)
        download.start()
        #expect(try other.matches(fileAt: try await download.file()))
        #expect(download.state.kind == .finished)
    }

    // MARK: The server's digest

    @Test("Bytes with the server's digest are kept for the caller who expects it")
    func kept() async throws {
        let url = fixture.server.route("/f", digested)
        let manager = fixture.manager()
        let mistaken = manager.download(url, sha256: wrong)
        try await expectMismatch(mistaken, wrong)
        await mistaken.waitUntilIdle()
        #expect(try content.matches(fileAt: fixture.partial(mistaken)))
        try await expectFile(manager.download(url, sha256: right))
        #expect(fixture.server.requests.count == 1)
    }

    @Test("Starting again asks the server for another version, and keeps the bytes when there is none")
    func keptAgain() async throws {
        let other = GeneratedContent(size: 50_000, seed: 9)
        let next = Reply.generated(other).entityTag("\"v2\"")
        let url = fixture.server.route("/f", digested.switching(after: 2, to: next))
        let download = fixture.downloader(url, sha256: other.sha256)
        for _ in 1...2 {
            download.start()
            try await expectMismatch(download, other.sha256)
            await download.waitUntilIdle()
            #expect(try content.matches(fileAt: fixture.partial(download)))
        }
        download.start()
        #expect(try other.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == ["", "", ""])
    }
}
