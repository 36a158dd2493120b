import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

/// Files on disk are untrusted input: damage causes no crash, no wrong file, and no write outside the folders.
@Suite("Damaged files", .timeLimit(.minutes(5)))
struct DamageTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 2000, seed: 7)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    /// Leaves 1000 of the 2000 bytes at `url`. One changed digit in the record would make these the whole file.
    private func leaveHalf(of url: URL) async throws -> (partial: Data, record: Data, item: Data) {
        let gate = ServerGate()
        fixture.server.route("/f", reply.stalled(afterBytes: 1000, until: gate))
        try await fixture.leave(1000, of: url, gate: gate)
        fixture.server.route("/f", reply)
        let downloader = fixture.downloader(url)
        return (
            try Data(contentsOf: fixture.partial(downloader)), try Data(contentsOf: fixture.record(downloader)),
            try Data(contentsOf: fixture.item(downloader))
        )
    }

    /// Restores the three files, of which the last two may be damaged, and downloads.
    private func download(_ url: URL, _ partial: Data, _ record: Data, _ item: Data) async throws -> Bool {
        let downloader = fixture.downloader(url)
        try? FileManager.default.removeItem(at: fixture.finished)
        try partial.write(to: fixture.partial(downloader))
        try record.write(to: fixture.record(downloader))
        try item.write(to: fixture.item(downloader))
        let manager = fixture.manager(retries: 0)
        let file = try await manager.download(url).file()
        return try content.matches(fileAt: file)
    }

    /// `data` with one kind of damage at one index.
    private static func damaged(_ data: Data, at index: Int, _ damage: String) -> Data {
        var damaged = data
        switch damage {
        case "a bit": damaged[index] ^= 1
        case "a digit": damaged[index] = UInt8(ascii: "1")
        default: damaged = damaged.prefix(index)
        }
        return damaged
    }

    @Test(
        "A record damaged at any byte, or cut at any length, never yields a wrong file",
        arguments: ["a digit", "an end"])
    func record(damage: String) async throws {
        let url = fixture.server.url("/f")
        let (partial, record, item) = try await leaveHalf(of: url)
        for index in record.indices where index % 3 == 0 {
            await Task.yield()
            let damaged = Self.damaged(record, at: index, damage)
            // Unreadable records all behave the same.
            guard ResumeRecord(damaged) != nil || index % 40 == 0 else { continue }
            let isRight = try await download(url, partial, damaged, item)
            #expect(isRight, "\(damage) at \(index)")
        }
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test(
        "An item damaged at any byte, or cut at any length, is ignored",
        arguments: ["a bit", "an end"])
    func item(damage: String) async throws {
        let url = fixture.server.url("/f")
        let (_, _, item) = try await leaveHalf(of: url)
        let name = fixture.item(fixture.downloader(url)).lastPathComponent
        let whole = try #require(DownloadItem(decoding: item, fileName: name))
        for index in item.indices where index % 3 == 0 {
            // Lets other tests run.
            await Task.yield()
            let damaged = Self.damaged(item, at: index, damage)
            // Damage to white space between the tags changes nothing.
            if let read = DownloadItem(decoding: damaged, fileName: name) {
                #expect(read == whole, "\(damage) at \(index)")
            }
        }
    }

    @Test("With a damaged item the download resumes from the bytes on disk")
    func withoutItem() async throws {
        let url = fixture.server.url("/f")
        let (partial, record, item) = try await leaveHalf(of: url)
        for damaged in [Data(), item.prefix(100), Data(repeating: 0x3C, count: 100_000), Data("<?xml".utf8)] {
            fixture.server.forgetRequests()
            #expect(try await download(url, partial, record, damaged))
            #expect(fixture.ranges == ["bytes=1000-"])
        }
    }

    @Test("A deeply nested property list is refused", arguments: ["<array>", "<dict><key>a</key>"])
    func nested(tag: String) {
        let text = "<?xml version=\"1.0\"?><plist version=\"1.0\">" + String(repeating: tag, count: 3000)
        #expect(DownloadItem(decoding: Data(text.utf8), fileName: "x") == nil)
    }

    @Test("A number that is not UTF-8 is refused, without reaching Foundation's parser, which would end the process")
    func brokenNumber() throws {
        let url = try #require(URL(string: "http://example.org/a"))
        var data = try DownloadItem(url: url, currentURL: url, sha256: [], intent: .wanted, order: 1).encoded()
        let tag = try #require(data.range(of: Data("<integer>".utf8)))
        data.insert(contentsOf: Array(repeating: 0xFF, count: 111), at: tag.upperBound)
        #expect(DownloadItem(decoding: data, fileName: DownloadPaths.fileName(of: url) + ".item") == nil)
    }

    @Test("A binary list, an oversized one and one of another version are refused")
    func foreign() throws {
        let url = try #require(URL(string: "http://example.org/a"))
        let item = DownloadItem(url: url, currentURL: url, sha256: [], intent: .wanted, order: 1)
        let data = try item.encoded()
        let name = DownloadPaths.fileName(of: url) + ".item"
        #expect(DownloadItem(decoding: data, fileName: name) == item)
        #expect(DownloadItem(decoding: data, fileName: "other.item") == nil)
        #expect(DownloadItem(decoding: data + Data(repeating: 0x20, count: 70_000), fileName: name) == nil)
        let text = String(decoding: data, as: UTF8.self)
        let next = text.replacingOccurrences(of: "<integer>1</integer>", with: "<integer>2</integer>")
        #expect(DownloadItem(decoding: Data(next.utf8), fileName: name) == nil)
        let list = try PropertyListSerialization.propertyList(from: data, format: nil)
        let binary = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        #expect(DownloadItem(decoding: binary, fileName: name) == nil)
    }

    @Test(
        "A length that no file has is not kept, and the item can be read", arguments: [.max, .max / 2 + 1] as [Int64])
    func absurdLength(length: Int64) throws {
        let url = try #require(URL(string: "http://example.org/a"))
        var item = DownloadItem(url: url, currentURL: url, sha256: [], intent: .wanted, order: 1)
        item.totalBytes = length
        let read = DownloadItem(decoding: try item.encoded(), fileName: DownloadPaths.fileName(of: url) + ".item")
        item.totalBytes = nil
        #expect(read == item)
    }

    @Test("Folders, links and other files named like items are ignored")
    func strangers() throws {
        try FileManager.default.createDirectory(
            at: fixture.unfinished.appendingPathComponent("folder.item"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: fixture.unfinished.appendingPathComponent("link.item").path, withDestinationPath: "/dev/zero")
        try Data("hello".utf8).write(to: fixture.unfinished.appendingPathComponent("stranger.item"))
        #expect(fixture.manager().downloads.isEmpty)
        #expect(fixture.names(in: fixture.unfinished) == ["folder.item", "link.item", "stranger.item"])
    }
}
