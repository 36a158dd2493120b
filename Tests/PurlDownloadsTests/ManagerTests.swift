import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("The download manager", .timeLimit(.minutes(3)))
struct ManagerTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 100_000, seed: 6)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("The same URL twice is one download and one request")
    func sameURL() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 50_000, until: gate))
        let manager = fixture.manager()
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
        #expect(fixture.server.requests.count == 1)
    }

    @Test("Downloads beyond the limit wait, and start in order", arguments: [1, 3, 0])
    func limit(limit: Int) async throws {
        let places = max(1, limit)
        let gates = (0..<6).map { _ in ServerGate() }
        let urls = gates.indices.map { index in
            fixture.server.route("/\(index)", reply.stalled(afterBytes: 1000, until: gates[index]))
        }
        let manager = fixture.manager(limit: limit)
        let downloads = urls.map { manager.download($0) }
        #expect(manager.downloads.map(\.url) == urls)
        for index in urls.indices {
            await gates[index].reached()
            #expect(fixture.server.requests.count <= index + places)
            #expect(downloads.filter { $0.state.kind == .downloading }.count <= places)
            gates[index].open()
            _ = try await downloads[index].file()
        }
        #expect(fixture.server.requests.count == 6)
        if places == 1 { #expect(fixture.server.requests.map(\.path) == (0..<6).map { "/\($0)" }) }
    }

    @Test("Pausing a download frees its slot for the next")
    func pauseFreesPlace() async throws {
        let gate = ServerGate()
        let manager = fixture.manager(limit: 1)
        let first = manager.download(fixture.server.route("/a", reply.stalled(afterBytes: 1000, until: gate)))
        let second = manager.download(fixture.server.route("/b", reply))
        await gate.reached()
        #expect(second.state.kind == .waiting)
        first.pause()
        #expect(try content.matches(fileAt: try await second.file()))
        #expect(first.state.kind == .paused)
        gate.open()
        first.resume()
        #expect(try content.matches(fileAt: try await first.file()))
    }

    @Test("pauseAll pauses all downloads, and resumeAll starts them in order")
    func pauseAll() async throws {
        let gate = ServerGate()
        let manager = fixture.manager(limit: 1)
        let urls = (0..<4).map { fixture.server.route("/\($0)", reply.stalled(afterBytes: 1000, until: gate)) }
        let downloads = urls.map { manager.download($0) }
        await gate.reached()
        manager.pauseAll()
        await manager.waitUntilIdle()
        #expect(downloads.map(\.state.kind) == Array(repeating: .paused, count: 4))
        #expect(fixture.server.requests.count == 1)
        fixture.server.forgetRequests()
        gate.open()
        manager.resumeAll()
        for download in downloads { _ = try await download.file() }
        #expect(fixture.server.requests.map(\.path) == ["/0", "/1", "/2", "/3"])
    }

    @Test("cancelAll keeps the downloads in the list, and starting one again resumes it")
    func cancelAll() async throws {
        let gate = ServerGate()
        let manager = fixture.manager(limit: 1)
        let urls = (0..<3).map { fixture.server.route("/\($0)", reply.stalled(afterBytes: 40_000, until: gate)) }
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
        #expect(fixture.ranges == ["", "bytes=40000-"])
    }

    @Test("cancelAndDelete removes the download from the list and the disk")
    func delete() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let manager = fixture.manager()
        let download = manager.download(url)
        await gate.reached()
        await download.hasReceived(40_000)
        download.cancelAndDelete()
        #expect(await download.failure()?.code == .cancelled)
        #expect(manager.downloads.isEmpty)
        await download.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
        #expect(fixture.manager().downloads.isEmpty)
        gate.open()
        download.start()
        #expect(manager.downloader(for: url) === download)
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == ["", ""])
    }

    @Test("A download that is started right after cancelAndDelete begins anew, and keeps its bytes and its item")
    func startedAfterDeletion() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let manager = fixture.manager()
        var download = manager.download(url)
        for round in 1...10 {
            await gate.reached(times: round)
            await download.hasReceived(40_000)
            if round.isMultiple(of: 2) { download.pause() }
            let head = ServerGate()
            fixture.server.route("/f", reply.delayed(until: head).stalled(afterBytes: 40_000, until: gate))
            download.cancelAndDelete()
            let next = manager.download(url)
            #expect(next !== download)
            #expect(next.bytesReceived == 0)
            head.open()
            // The files are no longer those of the deleted download.
            download.cancelAndDelete()
            #expect(ItemFile.read(fixture.item(next)) != nil)
            download = next
        }
        await gate.reached(times: 11)
        await download.hasReceived(40_000)
        download.pause()
        await manager.waitUntilIdle()
        #expect(fixture.manager().downloads.map(\.bytesReceived) == [40_000])
        gate.open()
        download.resume()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == Array(repeating: "", count: 11) + ["bytes=40000-"])
    }

    @Test("A downloader that is started right after another of the same URL was deleted waits for the deletion")
    func otherDownloaderAfterDeletion() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        var download = fixture.downloader(url)
        download.start()
        for round in 1...10 {
            await gate.reached(times: round)
            await download.hasReceived(40_000)
            download.cancelAndDelete()
            download = fixture.downloader(url)
            download.start()
        }
        gate.open()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(Set(fixture.ranges) == [""])
    }

    @Test("A downloader that is deleted, started and deleted again is idle when the bytes are gone", arguments: 1...10)
    func deletedTwice(round: Int) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let download = fixture.downloader(url)
        download.start()
        await download.hasReceived(40_000)
        download.cancelAndDelete()
        download.start()
        download.cancelAndDelete()
        await download.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished) == [])
        gate.open()
    }

    @Test("Who waits from within the last event finds nothing left", arguments: 1...10)
    func deletionSeenByListener(round: Int) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        try await fixture.leave(40_000, of: url, gate: gate)
        let manager = fixture.manager()
        let download = manager.download(url)
        download.pause()
        await manager.waitUntilIdle()
        let (left, found) = AsyncStream<[String]>.makeStream()
        download.observe { [fixture] event in
            guard case .failed = event else { return }
            Task {
                await download.waitUntilIdle()
                found.yield(fixture.names(in: fixture.unfinished))
                found.finish()
            }
        }
        download.cancelAndDelete()
        for await names in left { #expect(names == []) }
        gate.open()
    }

    @Test("A download that is over waits for no later one of its URL", arguments: [true, false])
    func idleBesideSuccessor(isDeleted: Bool) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let manager = fixture.manager()
        let download = manager.download(url)
        await download.hasReceived(40_000)
        if isDeleted {
            download.cancelAndDelete()
        } else {
            gate.open()
            _ = try await download.file()
            try FileManager.default.removeItem(at: fixture.finished.appendingPathComponent(download.key))
        }
        let second = ServerGate()
        fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: second))
        let next = manager.download(url)
        await second.reached()
        await download.waitUntilIdle()
        #expect(next.state.kind == .downloading)
        gate.open()
        second.open()
        _ = try await next.file()
    }

    @Test("cancelAndDelete also deletes what an invalidated manager is still writing", arguments: 1...10)
    func deletionAfterInvalidation(round: Int) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let (first, second) = (fixture.manager(), fixture.manager())
        let old = first.download(url)
        await old.hasReceived(40_000)
        first.invalidate()
        second.download(url).cancelAndDelete()
        await second.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished) == [])
        gate.open()
        #expect(try content.matches(fileAt: try await second.download(url).file()))
        // Between them the second manager may have asked for the rest, before it was to delete it.
        #expect(fixture.ranges.filter(\.isEmpty).count == 2 && fixture.ranges.count <= 3)
        #expect(fixture.ranges.first == "" && fixture.ranges.last == "")
    }

    @Test("An invalidated manager starts no downloads")
    func invalidated() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 1000, until: gate))
        let manager = fixture.manager(limit: 1)
        let running = manager.download(url)
        let waiting = manager.download(fixture.server.url("/other"))
        await gate.reached()
        manager.invalidate()
        #expect(running.state.kind == .failed)
        #expect(await waiting.failure()?.code == .cancelled)
        await manager.waitUntilIdle()
        waiting.start()
        running.pause()
        #expect(await manager.download(fixture.server.url("/third")).failure()?.code == .cancelled)
        await manager.waitUntilIdle()
        #expect(fixture.server.requests.count == 1)
    }

    @Test("Of two managers that download the same file, one writes it and the other fails")
    func twoManagers() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        let (first, second) = (fixture.manager(), fixture.manager())
        let mine = first.download(url)
        await gate.reached()
        await mine.hasReceived(40_000)
        let other = second.download(url)
        let error = try #require(await other.failure())
        #expect(error.code == .cannotOpenFile)
        #expect(error.failureSentence.contains("another transfer"))
        // Deleting the failed one does not disturb the other.
        other.cancelAndDelete()
        await other.waitUntilIdle()
        gate.open()
        #expect(try content.matches(fileAt: try await mine.file()))
    }
}
