import Foundation
import PurlDownloads
import PurlTesting
import Testing

@Suite("Replacing the URL of a resource", .timeLimit(.minutes(3)))
struct ReplaceURLTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 100_000, seed: 2)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("A download with an expired link resumes with the new one")
    func expired() async throws {
        let old = fixture.server.route("/f", reply.cut(afterBytes: 30_000).switching(after: 1, to: .status(403)))
        let fresh = fixture.server.route("/g", reply)
        let manager = fixture.manager()
        let download = manager.download(old)
        #expect(await download.failure()?.code == .noPermissionsToReadFile)
        download.replaceURL(with: fresh)
        #expect(download.url == old)
        #expect(download.currentURL == fresh)
        download.start()
        let file = try await download.file()
        #expect(try content.matches(fileAt: file))
        #expect(file.lastPathComponent == download.key)
        #expect(fixture.ranges == ["", "bytes=30000-", "bytes=30000-"])
        #expect(manager.finishedFile(for: old) != nil)
        #expect(manager.finishedFile(for: fresh) == nil)
    }

    @Test("The new URL is restored after a relaunch")
    func relaunch() async throws {
        let gate = ServerGate()
        let old = fixture.server.route("/f", reply.stalled(afterBytes: 30_000, until: gate))
        let fresh = fixture.server.route("/g", reply)
        try await fixture.leave(30_000, of: old, gate: gate)
        let first = fixture.manager()
        first.downloader(for: old)?.replaceURL(with: fresh)
        first.invalidate()
        let download = try #require(fixture.manager().downloader(for: old))
        #expect(download.currentURL == fresh)
    }

    @Test("A running download is restarted with the new URL and keeps its bytes")
    func underWay() async throws {
        let gate = ServerGate()
        let old = fixture.server.route("/f", reply.stalled(afterBytes: 30_000, until: gate))
        let fresh = fixture.server.route("/g", reply)
        let download = fixture.downloader(old)
        download.start()
        await gate.reached()
        await download.hasReceived(30_000)
        download.replaceURL(with: fresh)
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.server.requests.map(\.path) == ["/f", "/g"])
        #expect(fixture.ranges == ["", "bytes=30000-"])
    }

    @Test("Another version at the new URL starts over")
    func otherVersion() async throws {
        let gate = ServerGate()
        let other = GeneratedContent(size: 70_000, seed: 1)
        let old = fixture.server.route("/f", reply.stalled(afterBytes: 30_000, until: gate))
        let fresh = fixture.server.route("/g", Reply.generated(other).entityTag("\"v2\""))
        let download = fixture.downloader(old)
        download.start()
        await gate.reached()
        await download.hasReceived(30_000)
        download.replaceURL(with: fresh)
        #expect(try other.matches(fileAt: try await download.file()))
    }
}
