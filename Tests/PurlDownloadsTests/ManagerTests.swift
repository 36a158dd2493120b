import Foundation
import PurlDownloads
import PurlTesting
import Testing

@Suite("Many downloads", .timeLimit(.minutes(3)))
struct ManagerTests {
    let yard: Yard
    let content = GeneratedContent(size: 100_000, seed: 6)

    init() throws { yard = try Yard() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("The same URL twice is the same download, and one request")
    func sameURL() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 50_000, until: gate))
        let manager = yard.manager()
        let first = manager.download(url)
        await gate.reached()
        let second = manager.download(url)
        #expect(first === second)
        #expect(manager.downloader(for: url) === first)
        #expect(manager.downloads.count == 1)
        gate.open()
        #expect(try content.matches(fileAt: try await second.file()))
        #expect(manager.downloads.isEmpty)
        #expect(manager.downloader(for: url) == nil)
        #expect(yard.server.requests.count == 1)
    }

    @Test("So many at a time as the limit says, the others in order", arguments: [1, 3, 0])
    func limit(limit: Int) async throws {
        let places = max(1, limit)
        let gates = (0..<6).map { _ in Gate() }
        let urls = gates.indices.map { index in
            yard.server.route("/\(index)", reply.stalled(afterBytes: 1000, until: gates[index]))
        }
        let manager = yard.manager(limit: limit)
        let downloads = urls.map { manager.download($0) }
        #expect(manager.downloads.map(\.url) == urls)
        for index in urls.indices {
            await gates[index].reached()
            #expect(yard.server.requests.count <= index + places)
            #expect(downloads.filter { $0.state.kind == .downloading }.count <= places)
            gates[index].open()
            _ = try await downloads[index].file()
        }
        #expect(yard.server.requests.count == 6)
        if places == 1 { #expect(yard.server.requests.map(\.path) == (0..<6).map { "/\($0)" }) }
    }

    @Test("Pausing one lets the next in")
    func pauseFreesPlace() async throws {
        let gate = Gate()
        let manager = yard.manager(limit: 1)
        let first = manager.download(yard.server.route("/a", reply.stalled(afterBytes: 1000, until: gate)))
        let second = manager.download(yard.server.route("/b", reply))
        await gate.reached()
        #expect(second.state.kind == .waiting)
        first.pause()
        #expect(try content.matches(fileAt: try await second.file()))
        #expect(first.state.kind == .paused)
        gate.open()
        first.resume()
        #expect(try content.matches(fileAt: try await first.file()))
    }

    @Test("All can be paused, and resumed in order")
    func pauseAll() async throws {
        let gate = Gate()
        let manager = yard.manager(limit: 1)
        let urls = (0..<4).map { yard.server.route("/\($0)", reply.stalled(afterBytes: 1000, until: gate)) }
        let downloads = urls.map { manager.download($0) }
        await gate.reached()
        manager.pauseAll()
        await manager.waitUntilIdle()
        #expect(downloads.map(\.state.kind) == Array(repeating: .paused, count: 4))
        #expect(yard.server.requests.count == 1)
        yard.server.forgetRequests()
        gate.open()
        manager.resumeAll()
        for download in downloads { _ = try await download.file() }
        #expect(yard.server.requests.map(\.path) == ["/0", "/1", "/2", "/3"])
    }

    @Test("All can be cancelled; they stay in the list, and asking again goes on")
    func cancelAll() async throws {
        let gate = Gate()
        let manager = yard.manager(limit: 1)
        let urls = (0..<3).map { yard.server.route("/\($0)", reply.stalled(afterBytes: 40_000, until: gate)) }
        let downloads = urls.map { manager.download($0) }
        await gate.reached()
        await downloads[0].hasReceived(40_000)
        manager.cancelAll()
        for download in downloads { #expect(await download.failure()?.code == .cancelled) }
        await manager.waitUntilIdle()
        #expect(manager.downloads.count == 3)
        manager.resumeAll()
        #expect(downloads.map(\.state.kind) == Array(repeating: .failed, count: 3))
        gate.open()
        #expect(try content.matches(fileAt: try await manager.download(urls[0]).file()))
        #expect(yard.ranges == ["", "bytes=40000-"])
    }

    @Test("What is cancelled and deleted leaves the list and the disk")
    func delete() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let manager = yard.manager()
        let download = manager.download(url)
        await gate.reached()
        await download.hasReceived(40_000)
        download.cancelAndDelete()
        #expect(await download.failure()?.code == .cancelled)
        #expect(manager.downloads.isEmpty)
        await download.waitUntilIdle()
        #expect(yard.names(in: yard.unfinished).isEmpty)
        #expect(yard.manager().downloads.isEmpty)
        gate.open()
        download.start()
        #expect(manager.downloader(for: url) === download)
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(yard.ranges == ["", ""])
    }

    @Test("A manager that has ended does nothing any more")
    func invalidated() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 1000, until: gate))
        let manager = yard.manager(limit: 1)
        let running = manager.download(url)
        let waiting = manager.download(yard.server.url("/other"))
        await gate.reached()
        manager.invalidate()
        #expect(running.state.kind == .failed)
        #expect(await waiting.failure()?.code == .cancelled)
        await manager.waitUntilIdle()
        waiting.start()
        running.pause()
        #expect(await manager.download(yard.server.url("/third")).failure()?.code == .cancelled)
        await manager.waitUntilIdle()
        #expect(yard.server.requests.count == 1)
    }

    @Test("A file that two managers want at once is written by one; the other is told so")
    func twoManagers() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let (first, second) = (yard.manager(), yard.manager())
        let mine = first.download(url)
        await gate.reached()
        await mine.hasReceived(40_000)
        let other = second.download(url)
        let error = try #require(await other.failure())
        #expect(error.code == .cannotOpenFile)
        #expect(error.localizedDescription.contains("another transfer"))
        // Nor does throwing it away hurt the one that is at work.
        other.cancelAndDelete()
        await other.waitUntilIdle()
        gate.open()
        #expect(try content.matches(fileAt: try await mine.file()))
    }
}
