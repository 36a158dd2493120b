import Foundation
import Purl
import PurlDownloads
import PurlIO
import PurlTesting
import Testing

@Suite("Room on the disk", .timeLimit(.minutes(1)))
struct ReservedRoomTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 4 << 20, seed: 7)

    init() throws { fixture = try DownloadFixture() }

    private var size: Int64 { Int64(content.size) }

    private func downloader(_ url: URL, _ connections: ConnectionCount, on files: TestedFiles) -> Downloader {
        var configuration = fixture.configuration(retries: 0)
        configuration.connections = connections
        configuration.session.files = files
        return Downloader(url: url, configuration: configuration)
    }

    /// How many bytes of the disk a file has.
    private func allocated(_ file: URL) throws -> Int64 {
        var status = stat()
        try #require(stat(file.path, &status) == 0)
        return Int64(status.st_blocks) * 512
    }

    /// Whether the file system reserves room at all.
    private func reservesRoom() throws -> Bool {
        let probe = fixture.folder.appendingPathComponent("probe")
        let file = try SystemFiles().open(probe.path, .creating)
        try file.reserve(1 << 20)
        return try allocated(probe) >= 1 << 20
    }

    @Test(
        "Room for the whole is reserved before the first byte, and again when the download resumes",
        arguments: [1, 4] as [ConnectionCount])
    func reserved(connections: ConnectionCount) async throws {
        let gate = ServerGate()
        let url = fixture.server.route(
            "/f", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 1000, until: gate))
        let files = TestedFiles(boot: "a")
        let first = downloader(url, connections, on: files)
        first.start()
        await gate.reached()
        await first.hasReceived(1)
        #expect(files.reservations.lengths == [size])
        if try reservesRoom() { #expect(try allocated(fixture.partial(first)) >= size) }
        first.pause()
        await first.waitUntilIdle()
        gate.open()

        let second = downloader(url, connections, on: files)
        second.start()
        let file = try await second.file()
        #expect(try content.matches(fileAt: file))
        #expect(files.reservations.lengths.count >= 2)
        #expect(files.reservations.lengths.allSatisfy { $0 == size })
    }

    @Test(
        "Without room for the whole, the download fails before a byte is on the disk",
        arguments: [1, 4] as [ConnectionCount])
    func full(connections: ConnectionCount) async throws {
        let url = fixture.server.route("/f", .generated(content).entityTag("\"v1\""))
        let download = downloader(url, connections, on: TestedFiles(boot: "a", room: size - 1))
        download.start()
        let error = await download.failure()
        #expect(error?.code == .cannotWriteToFile)
        #expect(error?.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        #expect(error?.failureSentence.contains("No space left on device") == true)
        await download.waitUntilIdle()
        #expect(download.bytesReceived == 0)
        #expect(fixture.ranges == [""])
    }

    @Test(
        "A disk that is full when the download resumes costs nothing that is there",
        arguments: [1, 4] as [ConnectionCount])
    func fullLater(connections: ConnectionCount) async throws {
        let gate = ServerGate()
        let url = fixture.server.route(
            "/f", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 500_000, until: gate))
        let first = downloader(url, connections, on: TestedFiles(boot: "a"))
        first.start()
        await first.hasReceived(500_000)
        first.pause()
        await first.waitUntilIdle()
        let kept = first.bytesReceived
        #expect(kept >= 500_000)
        gate.open()
        let full = downloader(url, connections, on: TestedFiles(boot: "a", room: size - 1))
        full.start()
        #expect(await full.failure()?.code == .cannotWriteToFile)
        await full.waitUntilIdle()
        let last = downloader(url, connections, on: TestedFiles(boot: "a"))
        #expect(last.bytesReceived == kept)
        last.start()
        #expect(try content.matches(fileAt: try await last.file()))
        #expect(fixture.ranges.last?.isEmpty == false)
    }

    @Test("A file whose unused room the disk does not free is unlocked all the same")
    func notFreed() throws {
        let file = fixture.folder.appendingPathComponent("f")
        let sink = FileHandleSink(
            fileAt: file, recordAt: nil, completion: .safe, through: TestedFiles(boot: "a", truncates: false))
        sink.limit(to: nil, reservingSpace: true)
        try sink.reserve(upTo: size)
        try sink.append(Data("abc".utf8))
        try sink.close()
        #expect(try FileHandleSink(fileAt: file).length == 3)
    }
}
