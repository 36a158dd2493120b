import Foundation
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("The folders of finished and unfinished files", .timeLimit(.minutes(3)))
struct FolderTests {
    enum Arrangement: CaseIterable, Sendable {
        case apart, same, finishedInside, unfinishedInside, link
    }

    let fixture: DownloadFixture
    let content = GeneratedContent(size: 100_000, seed: 5)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    private func configuration(_ arrangement: Arrangement) throws -> DownloadConfiguration {
        var configuration = fixture.configuration()
        let folder = fixture.unfinished
        switch arrangement {
        case .apart: break
        case .same: configuration.finishedDirectory = folder
        case .finishedInside: configuration.finishedDirectory = folder.appendingPathComponent("inside")
        case .unfinishedInside:
            configuration.unfinishedDirectory = configuration.finishedDirectory.appendingPathComponent("inside")
        case .link:
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(at: fixture.finished, withDestinationURL: folder)
        }
        return configuration
    }

    @Test(
        "A partial file is never called finished, after a relaunch neither", arguments: Arrangement.allCases,
        ["/f", "/f.mp4", "/f.part", "/f.resume"])
    func partial(arrangement: Arrangement, path: String) async throws {
        let gate = ServerGate()
        let url = fixture.server.route(path, reply.stalled(afterBytes: 40_000, until: gate))
        let configuration = try configuration(arrangement)
        let first = DownloadManager(configuration: configuration)
        let download = first.download(url)
        await gate.reached()
        await download.hasReceived(40_000)
        #expect(first.finishedFile(for: url) == nil)
        download.pause()
        await download.waitUntilIdle()
        #expect(first.finishedFile(for: url) == nil)
        first.invalidate()

        let second = DownloadManager(configuration: configuration)
        #expect(second.finishedFile(for: url) == nil)
        #expect(second.downloads.map(\.state.kind) == [.paused])
        gate.open()
        second.resumeAll()
        let file = try await second.download(url).file()
        #expect(try content.matches(fileAt: file))
        #expect(fixture.ranges == ["", "bytes=40000-"])
        await second.waitUntilIdle()
        let names = Set(fixture.names(in: configuration.unfinishedDirectory))
        #expect(names.subtracting(["inside", file.lastPathComponent]).isEmpty)
    }

    @Test("No finished file has the name of another file of any URL")
    func names() throws {
        let folder = fixture.folder
        let paths = DownloadPaths(finishedDirectory: folder, unfinishedDirectory: folder)
        let types = ["", "mp4", "part", "PART", "resume", "item", "Item", "deletion", "copy", "new", "gz"]
        let urls = try types.map { try #require(URL(string: "http://example.org/a.\($0)")) }
        let finished = Set(urls.map { paths.finished($0).lastPathComponent.lowercased() })
        #expect(finished.count == urls.count)
        let unfinished = urls.flatMap { url in
            let names = paths.unfinished(url)
            let files = [names.partial, names.record, names.item, names.deletion, paths.copy(url)]
            return files + files.map { $0.appendingPathExtension("new") }
        }.map { $0.lastPathComponent.lowercased() }
        #expect(Set(unfinished).count == unfinished.count)
        #expect(finished.isDisjoint(with: unfinished))
    }
}

/// A folder on another file system than the temporary one, where there is one.
private let otherFileSystem: String? = {
    func system(_ path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.systemNumber] as? Int
    }
    let present = system(FileManager.default.temporaryDirectory.path)
    return ["/dev/shm", "/var/tmp"].first { path in
        FileManager.default.isWritableFile(atPath: path) && system(path) != present
    }
}()

@Suite(
    "A finished folder on another file system", .timeLimit(.minutes(3)),
    .enabled(if: otherFileSystem != nil))
struct OtherFileSystemTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 100_000, seed: 5)
    let folder: OtherFolder

    init() throws {
        fixture = try DownloadFixture()
        folder = OtherFolder(in: try #require(otherFileSystem))
    }

    /// A folder that is removed with this object.
    final class OtherFolder: Sendable {
        let url: URL

        init(in parent: String) {
            url = URL(fileURLWithPath: "\(parent)/downloads-\(UUID().uuidString)", isDirectory: true)
        }

        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private var configuration: DownloadConfiguration {
        var configuration = fixture.configuration(retries: 0)
        configuration.finishedDirectory = folder.url
        return configuration
    }

    private func downloader() throws -> Downloader {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let reply = Reply.generated(content).entityTag("\"v1\"")
        return Downloader(url: fixture.server.route("/f.bin", reply), configuration: configuration)
    }

    private func copy(_ downloader: Downloader) -> URL {
        folder.url.appendingPathComponent("\(downloader.key).bin.copy")
    }

    @Test("It receives a copy, and the partial file is removed")
    func copied() async throws {
        let download = try downloader()
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        await download.waitUntilIdle()
        #expect(fixture.names(in: folder.url) == ["\(download.key).bin"])
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test("The copy has the mode of a file that the program creates")
    func mode() async throws {
        let download = try downloader()
        download.start()
        let file = try await download.file()
        let new = folder.url.appendingPathComponent("new")
        close(open(new.path, O_CREAT | O_EXCL | O_WRONLY, 0o666))
        let modes = try [file, new].map {
            try FileManager.default.attributesOfItem(atPath: $0.path)[.posixPermissions] as? Int
        }
        #expect(modes[0] == modes[1])
    }

    @Test("A copy that a killed process has left behind is replaced")
    func leftover() async throws {
        let download = try downloader()
        try Data(repeating: 1, count: 200_000).write(to: copy(download))
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.names(in: folder.url) == ["\(download.key).bin"])
    }

    @Test("A link at the copy's path is not followed")
    func link() async throws {
        let download = try downloader()
        let victim = fixture.folder.appendingPathComponent("victim")
        try Data("precious".utf8).write(to: victim)
        try FileManager.default.createSymbolicLink(at: copy(download), withDestinationURL: victim)
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }

    @Test("A copy that another manager is making is left alone, and the bytes are kept for the next start")
    func concurrentCopy() async throws {
        let download = try downloader()
        let half = Data(repeating: 1, count: 50_000)
        try half.write(to: copy(download))
        let other = try FileHandle(forUpdating: copy(download))
        #expect(flock(other.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        download.start()
        #expect(await download.failure()?.code == .cannotMoveFile)
        await download.waitUntilIdle()
        #expect(try Data(contentsOf: copy(download)) == half)
        #expect(fixture.names(in: folder.url) == ["\(download.key).bin.copy"])
        // A program that is just being started may have the descriptor, too.
        flock(other.fileDescriptor, LOCK_UN)
        try other.close()
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.server.requests.count == 1)
    }
}
