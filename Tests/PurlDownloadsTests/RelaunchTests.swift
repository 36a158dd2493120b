import Foundation
import PurlDownloads
import PurlTesting
import Testing

@Suite("After a relaunch", .timeLimit(.minutes(3)))
struct RelaunchTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 100_000, seed: 7)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test(
        "The list is restored in order and with its states, and no request is made before a start",
        arguments: [true, false])
    func list(isInvalidated: Bool) async throws {
        let gate = ServerGate()
        let urls = (0..<4).map { fixture.server.route("/\($0).bin", reply.stalled(afterBytes: 60_000, until: gate)) }
        var first: DownloadManager? = fixture.manager(limit: 1)
        let downloads = urls.compactMap { first?.download($0) }
        await gate.reached()
        await downloads[0].hasReceived(60_000)
        downloads[1].pause()
        downloads[2].cancel()
        if isInvalidated { first?.invalidate() }
        first = nil

        let second = fixture.manager(limit: 1)
        #expect(second.downloads.map(\.url) == urls)
        #expect(second.downloads.map(\.state.kind) == [.waiting, .paused, .failed, .waiting])
        await downloads[0].waitUntilIdle()
        await second.waitUntilIdle()
        #expect(fixture.server.requests.count == 1)

        gate.open()
        second.resumeAll()
        for index in [0, 1, 3] {
            let file = try await second.download(urls[index]).file()
            #expect(try content.matches(fileAt: file))
        }
        #expect(second.downloads.map(\.url) == [urls[2]])
        #expect(fixture.server.requests.map(\.path) == ["/0.bin", "/0.bin", "/1.bin", "/3.bin"])
        #expect(fixture.ranges == ["", "bytes=60000-", "", ""])
    }

    @Test("The next manager waits until the invalidated one has released the file")
    func atOnce() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.ignoringRange().stalled(afterBytes: 60_000, until: gate))
        for round in 1...5 {
            let manager = fixture.manager()
            manager.download(url)
            await gate.reached(times: round)
            manager.invalidate()
        }
        gate.open()
        let last = fixture.manager()
        #expect(try content.matches(fileAt: try await last.download(url).file()))
        last.invalidate()
    }

    @Test("The progress is read from disk before any request")
    func progress() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await fixture.leave(60_000, of: url, gate: gate)
        let manager = fixture.manager()
        let download = try #require(manager.downloader(for: url))
        #expect(download.bytesReceived == 60_000)
        #expect(download.totalBytes == 100_000)
        #expect(download.state.kind == .paused)
        #expect(fixture.server.requests.isEmpty)
        gate.open()
        manager.resumeAll()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == ["bytes=60000-"])
    }

    @Test("A manager finds the download that a downloader on its own has left")
    func alone() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await fixture.leave(60_000, of: url, gate: gate)
        #expect(fixture.manager().downloads.map(\.url) == [url])
        let again = fixture.downloader(url)
        #expect(again.state.kind == .paused)
        #expect(again.bytesReceived == 60_000)
    }

    @Test("A complete partial file is moved without a request")
    func complete() async throws {
        let url = fixture.server.route("/f", reply)
        // A folder at the finished file's path prevents the move.
        var configuration = fixture.configuration(retries: 0)
        configuration.finishedDirectory = fixture.folder.appendingPathComponent("elsewhere", isDirectory: true)
        let blocked = Downloader(url: url, configuration: configuration)
        let place = configuration.finishedDirectory.appendingPathComponent(blocked.key, isDirectory: true)
        try FileManager.default.createDirectory(
            at: place.appendingPathComponent("inside"), withIntermediateDirectories: true)
        blocked.start()
        #expect(await blocked.failure()?.code == .cannotMoveFile)
        await blocked.waitUntilIdle()
        fixture.server.forgetRequests()

        let download = fixture.downloader(url)
        #expect(download.bytesReceived == 100_000)
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.server.requests.isEmpty)
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test("A partial file longer than its record allows starts over")
    func tooLong() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await fixture.leave(60_000, of: url, gate: gate)
        gate.open()
        let download = fixture.downloader(url)
        let handle = try FileHandle(forWritingTo: fixture.partial(download))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(count: 60_000))
        try handle.close()
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == [""])
    }

    @Test("Bytes beyond those in the record are requested again")
    func surplus() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await fixture.leave(60_000, of: url, gate: gate)
        gate.open()
        let download = fixture.downloader(url)
        let handle = try FileHandle(forWritingTo: fixture.partial(download))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(count: 1000))
        try handle.close()
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == ["bytes=60000-"])
    }

    @Test("A link at the partial file's path is not followed")
    func link() async throws {
        let victim = fixture.folder.appendingPathComponent("victim")
        try Data("precious".utf8).write(to: victim)
        let download = fixture.downloader(fixture.server.route("/f", reply))
        try FileManager.default.createDirectory(at: fixture.unfinished, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: fixture.partial(download), withDestinationURL: victim)
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }

    @Test(
        "What was being deleted is deleted, whatever a loss of power has left in the mark of it",
        arguments: [nil, Data(), Data("{".utf8)])
    func deletion(damaged: Data?) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f.bin", reply.stalled(afterBytes: 60_000, until: gate))
        try await fixture.leave(60_000, of: url, gate: gate)
        let item = fixture.item(fixture.downloader(url))
        if let damaged { try damaged.write(to: item) }
        let mark = item.deletingPathExtension().appendingPathExtension("deletion")
        try FileManager.default.moveItem(at: item, to: mark)
        // Files of others with such types stay.
        let key = String(repeating: "a", count: 64)
        let others =
            ["-notes.deletion", "-notes.item.new", "-notes.part"].map { key + $0 } + ["notes.deletion", "notes.part"]
        for name in others { try Data("mine".utf8).write(to: fixture.unfinished.appendingPathComponent(name)) }
        #expect(fixture.manager().downloads.isEmpty)
        #expect(fixture.names(in: fixture.unfinished) == others)
    }

    @Test("The item beside a finished file is removed")
    func finishedItem() async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await fixture.leave(60_000, of: url, gate: gate)
        let download = fixture.downloader(url)
        try FileManager.default.createDirectory(at: fixture.finished, withIntermediateDirectories: true)
        try content.data.write(to: fixture.finished.appendingPathComponent(download.key))
        #expect(fixture.manager().downloads.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.item(download).path))
    }
}
