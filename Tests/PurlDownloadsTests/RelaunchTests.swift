import Foundation
import PurlDownloads
import PurlTesting
import Testing

@Suite("After a relaunch", .timeLimit(.minutes(3)))
struct RelaunchTests {
    let yard: Yard
    let content = GeneratedContent(size: 100_000, seed: 7)

    init() throws { yard = try Yard() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test(
        "The list comes back in order and as it was, and nothing is requested until somebody asks",
        arguments: [true, false])
    func list(isInvalidated: Bool) async throws {
        let gate = Gate()
        let urls = (0..<4).map { yard.server.route("/\($0).bin", reply.stalled(afterBytes: 60_000, until: gate)) }
        var first: DownloadManager? = yard.manager(limit: 1)
        let downloads = urls.compactMap { first?.download($0) }
        await gate.reached()
        await downloads[0].hasReceived(60_000)
        downloads[1].pause()
        downloads[2].cancel()
        if isInvalidated { first?.invalidate() }
        first = nil

        let second = yard.manager(limit: 1)
        #expect(second.downloads.map(\.url) == urls)
        #expect(second.downloads.map(\.state.kind) == [.waiting, .paused, .failed, .waiting])
        await downloads[0].waitUntilIdle()
        await second.waitUntilIdle()
        #expect(yard.server.requests.count == 1)

        gate.open()
        second.resumeAll()
        for index in [0, 1, 3] {
            let file = try await second.download(urls[index]).file()
            #expect(try content.matches(fileAt: file))
        }
        #expect(second.downloads.map(\.url) == [urls[2]])
        #expect(yard.server.requests.map(\.path) == ["/0.bin", "/0.bin", "/1.bin", "/3.bin"])
        #expect(yard.ranges == ["", "bytes=60000-", "", ""])
    }

    @Test("The next manager may ask at once: it waits until the last has let go")
    func atOnce() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.ignoringRange().stalled(afterBytes: 60_000, until: gate))
        for round in 1...5 {
            let manager = yard.manager()
            manager.download(url)
            await gate.reached(times: round)
            manager.invalidate()
        }
        gate.open()
        let last = yard.manager()
        #expect(try content.matches(fileAt: try await last.download(url).file()))
        last.invalidate()
    }

    @Test("The progress is known before any request")
    func progress() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await yard.leave(60_000, of: url, gate: gate)
        let manager = yard.manager()
        let download = try #require(manager.downloader(for: url))
        #expect(download.bytesReceived == 60_000)
        #expect(download.totalBytes == 100_000)
        #expect(download.state.kind == .paused)
        #expect(yard.server.requests.isEmpty)
        gate.open()
        manager.resumeAll()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(yard.ranges == ["bytes=60000-"])
    }

    @Test("A download on its own leaves what a manager finds")
    func alone() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await yard.leave(60_000, of: url, gate: gate)
        #expect(yard.manager().downloads.map(\.url) == [url])
        let again = yard.downloader(url)
        #expect(again.state.kind == .paused)
        #expect(again.bytesReceived == 60_000)
    }

    @Test("What was whole already is moved without a request")
    func complete() async throws {
        let url = yard.server.route("/f", reply)
        // A folder lies at the finished file's place, so the whole partial stays where it is.
        var configuration = yard.configuration(retries: 0)
        configuration.finishedDirectory = yard.folder.appendingPathComponent("elsewhere", isDirectory: true)
        let blocked = Downloader(url: url, configuration: configuration)
        let place = configuration.finishedDirectory.appendingPathComponent(blocked.key, isDirectory: true)
        try FileManager.default.createDirectory(
            at: place.appendingPathComponent("inside"), withIntermediateDirectories: true)
        blocked.start()
        #expect(await blocked.failure()?.code == .cannotMoveFile)
        await blocked.waitUntilIdle()
        yard.server.forgetRequests()

        let download = yard.downloader(url)
        #expect(download.bytesReceived == 100_000)
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(yard.server.requests.isEmpty)
        #expect(yard.names(in: yard.unfinished).isEmpty)
    }

    @Test("A partial file longer than its record allows starts over")
    func tooLong() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await yard.leave(60_000, of: url, gate: gate)
        gate.open()
        let download = yard.downloader(url)
        let handle = try FileHandle(forWritingTo: yard.partial(download))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(count: 60_000))
        try handle.close()
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(yard.ranges == [""])
    }

    @Test("Bytes behind what the record vouches for are fetched again")
    func surplus() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await yard.leave(60_000, of: url, gate: gate)
        gate.open()
        let download = yard.downloader(url)
        let handle = try FileHandle(forWritingTo: yard.partial(download))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(count: 1000))
        try handle.close()
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(yard.ranges == ["bytes=60000-"])
    }

    @Test("A link at the partial file's place leads nowhere")
    func link() async throws {
        let victim = yard.folder.appendingPathComponent("victim")
        try Data("precious".utf8).write(to: victim)
        let download = yard.downloader(yard.server.route("/f", reply))
        try FileManager.default.createDirectory(at: yard.unfinished, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: yard.partial(download), withDestinationURL: victim)
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }

    @Test("A finished file's forgotten item is tidied up")
    func finishedItem() async throws {
        let gate = Gate()
        let url = yard.server.route("/f", reply.stalled(afterBytes: 60_000, until: gate))
        try await yard.leave(60_000, of: url, gate: gate)
        let download = yard.downloader(url)
        try FileManager.default.createDirectory(at: yard.finished, withIntermediateDirectories: true)
        try content.data.write(to: yard.finished.appendingPathComponent(download.key))
        #expect(yard.manager().downloads.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: yard.item(download).path))
    }

    @Test(
        "A finished folder on another file system gets a copy",
        .enabled(if: FileManager.default.isWritableFile(atPath: "/dev/shm")))
    func otherFileSystem() async throws {
        var configuration = yard.configuration()
        configuration.finishedDirectory = URL(
            fileURLWithPath: "/dev/shm/downloads-\(UUID().uuidString)", isDirectory: true)
        defer { try? FileManager.default.removeItem(at: configuration.finishedDirectory) }
        let download = Downloader(url: yard.server.route("/f.bin", reply), configuration: configuration)
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        await download.waitUntilIdle()
        #expect(yard.names(in: configuration.finishedDirectory) == ["\(download.key).bin"])
        #expect(yard.names(in: yard.unfinished).isEmpty)
    }
}
