import Foundation
import PurlDownloads
import PurlTesting
import Testing

@Suite("A fresh URL for the same resource", .timeLimit(.minutes(3)))
struct ReplaceURLTests {
    let yard: Yard
    let content = GeneratedContent(size: 100_000, seed: 2)

    init() throws { yard = try Yard() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("A link that has expired is replaced, and the download goes on where it was")
    func expired() async throws {
        let old = yard.server.route("/f", reply.cut(afterBytes: 30_000).switching(after: 1, to: .status(403)))
        let fresh = yard.server.route("/g", reply)
        let manager = yard.manager()
        let download = manager.download(old)
        #expect(await download.failure()?.code == .noPermissionsToReadFile)
        download.replaceURL(with: fresh)
        #expect(download.url == old)
        #expect(download.currentURL == fresh)
        download.start()
        let file = try await download.file()
        #expect(try content.matches(fileAt: file))
        #expect(file.lastPathComponent == download.key)
        #expect(yard.ranges == ["", "bytes=30000-", "bytes=30000-"])
        #expect(manager.finishedFile(for: old) != nil)
        #expect(manager.finishedFile(for: fresh) == nil)
    }

    @Test("The fresh URL is remembered across a relaunch")
    func relaunch() async throws {
        let gate = Gate()
        let old = yard.server.route("/f", reply.stalled(afterBytes: 30_000, until: gate))
        let fresh = yard.server.route("/g", reply)
        try await yard.leave(30_000, of: old, gate: gate)
        let first = yard.manager()
        first.downloader(for: old)?.replaceURL(with: fresh)
        first.invalidate()
        let download = try #require(yard.manager().downloader(for: old))
        #expect(download.currentURL == fresh)
    }

    @Test("A download under way begins again with the fresh URL and the same bytes")
    func underWay() async throws {
        let gate = Gate()
        let old = yard.server.route("/f", reply.stalled(afterBytes: 30_000, until: gate))
        let fresh = yard.server.route("/g", reply)
        let download = yard.downloader(old)
        download.start()
        await gate.reached()
        await download.hasReceived(30_000)
        download.replaceURL(with: fresh)
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(yard.server.requests.map(\.path) == ["/f", "/g"])
        #expect(yard.ranges == ["", "bytes=30000-"])
    }

    @Test("Another version behind the fresh URL starts over")
    func otherVersion() async throws {
        let gate = Gate()
        let other = GeneratedContent(size: 70_000, seed: 1)
        let old = yard.server.route("/f", reply.stalled(afterBytes: 30_000, until: gate))
        let fresh = yard.server.route("/g", Reply.generated(other).entityTag("\"v2\""))
        let download = yard.downloader(old)
        download.start()
        await gate.reached()
        await download.hasReceived(30_000)
        download.replaceURL(with: fresh)
        #expect(try other.matches(fileAt: try await download.file()))
    }
}
