import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

/// What lies on disk is not trusted: whatever happens to it, nothing crashes, no wrong file comes, and nothing is
/// written elsewhere.
@Suite("Damaged files", .timeLimit(.minutes(5)))
struct DamageTests {
    let yard: Yard
    let content = GeneratedContent(size: 2000, seed: 7)

    init() throws { yard = try Yard() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    /// Leaves 1000 of the 2000 bytes at `url`: one changed digit would make the record say that these are all.
    private func leaveHalf(of url: URL) async throws -> (partial: Data, record: Data, item: Data) {
        let gate = Gate()
        yard.server.route("/f", reply.stalled(afterBytes: 1000, until: gate))
        try await yard.leave(1000, of: url, gate: gate)
        yard.server.route("/f", reply)
        let downloader = yard.downloader(url)
        return (
            try Data(contentsOf: yard.partial(downloader)), try Data(contentsOf: yard.record(downloader)),
            try Data(contentsOf: yard.item(downloader))
        )
    }

    /// Puts the three files back, the last two perhaps damaged, and downloads.
    private func download(_ url: URL, _ partial: Data, _ record: Data, _ item: Data) async throws -> Bool {
        let downloader = yard.downloader(url)
        try? FileManager.default.removeItem(at: yard.finished)
        try partial.write(to: yard.partial(downloader))
        try record.write(to: yard.record(downloader))
        try item.write(to: yard.item(downloader))
        let manager = yard.manager(retries: 0)
        let file = try await manager.download(url).file()
        return try content.matches(fileAt: file)
    }

    /// Every way to spoil `data` at one place.
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
        "Every byte of a record damaged, and every length of it: the file is right", arguments: ["a digit", "an end"])
    func record(damage: String) async throws {
        let url = yard.server.url("/f")
        let (partial, record, item) = try await leaveHalf(of: url)
        for index in record.indices {
            await Task.yield()
            let damaged = Self.damaged(record, at: index, damage)
            // Those that nobody can read are all alike.
            guard ResumeRecord(damaged) != nil || index % 40 == 0 else { continue }
            let isRight = try await download(url, partial, damaged, item)
            #expect(isRight, "\(damage) at \(index)")
        }
        #expect(yard.names(in: yard.unfinished).isEmpty)
    }

    @Test(
        "Every byte of an item damaged, and every length of it: nothing of it is believed",
        arguments: ["a bit", "an end"])
    func item(damage: String) async throws {
        let url = yard.server.url("/f")
        let (_, _, item) = try await leaveHalf(of: url)
        let name = yard.item(yard.downloader(url)).lastPathComponent
        let whole = try #require(DownloadItem(decoding: item, fileName: name))
        for index in item.indices {
            // Other tests have their turn.
            await Task.yield()
            let damaged = Self.damaged(item, at: index, damage)
            // White space between the tags means nothing.
            if let read = DownloadItem(decoding: damaged, fileName: name) {
                #expect(read == whole, "\(damage) at \(index)")
            }
        }
    }

    @Test("With a damaged item the file still comes, from the bytes that are there")
    func withoutItem() async throws {
        let url = yard.server.url("/f")
        let (partial, record, item) = try await leaveHalf(of: url)
        for damaged in [Data(), item.prefix(100), Data(repeating: 0x3C, count: 100_000), Data("<?xml".utf8)] {
            yard.server.forgetRequests()
            #expect(try await download(url, partial, record, damaged))
            #expect(yard.ranges == ["bytes=1000-"])
        }
    }

    @Test("A deeply nested list is not followed", arguments: ["<array>", "<dict><key>a</key>"])
    func nested(tag: String) {
        let text = "<?xml version=\"1.0\"?><plist version=\"1.0\">" + String(repeating: tag, count: 3000)
        #expect(DownloadItem(decoding: Data(text.utf8), fileName: "x") == nil)
    }

    @Test("A number that is not UTF-8, at which Foundation's parser ends the process")
    func brokenNumber() throws {
        let url = try #require(URL(string: "http://example.org/a"))
        var data = try DownloadItem(url: url, currentURL: url, sha256: nil, wish: .wanted, order: 1).encoded()
        let tag = try #require(data.range(of: Data("<integer>".utf8)))
        data.insert(contentsOf: Array(repeating: 0xFF, count: 111), at: tag.upperBound)
        #expect(DownloadItem(decoding: data, fileName: DownloadPlaces.fileName(of: url) + ".item") == nil)
    }

    @Test("A binary list, a huge one and one of another version are none of ours")
    func foreign() throws {
        let url = try #require(URL(string: "http://example.org/a"))
        let item = DownloadItem(url: url, currentURL: url, sha256: nil, wish: .wanted, order: 1)
        let data = try item.encoded()
        let name = DownloadPlaces.fileName(of: url) + ".item"
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

    @Test("Folders, links and strangers among the items are passed over")
    func strangers() throws {
        try FileManager.default.createDirectory(
            at: yard.unfinished.appendingPathComponent("folder.item"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: yard.unfinished.appendingPathComponent("link.item").path, withDestinationPath: "/dev/zero")
        try Data("hello".utf8).write(to: yard.unfinished.appendingPathComponent("stranger.item"))
        #expect(yard.manager().downloads.isEmpty)
        #expect(yard.names(in: yard.unfinished) == ["folder.item", "link.item", "stranger.item"])
    }
}
