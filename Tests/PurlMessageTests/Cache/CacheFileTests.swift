import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The files of a cache on disk")
struct CacheFileTests {
    private let home = CacheHome()

    private func written() throws -> (CacheHome, URL, Data) {
        let cache = home.cache()
        cache.put("a", size: 300)
        cache.store.flush()
        let file = home.folder.appendingPathComponent(try #require(home.fileNames.first))
        return (home, file, try Data(contentsOf: file))
    }

    @Test("A file with a changed byte is not served, and is removed")
    func changed() throws {
        let (home, file, intact) = try written()
        for position in stride(from: 0, to: intact.count, by: 7) {
            var damaged = intact
            damaged[position] ^= 0x20
            try damaged.write(to: file)
            let cache = home.cache()
            #expect(!cache.has("a"), "byte \(position)")
            cache.store.flush()
            #expect(home.fileNames == [])
            #expect(cache.currentDiskUsage == 0)
        }
        try intact.write(to: file)
        #expect(home.cache().has("a"))
    }

    @Test("A file that is too short or too long is not served, and is removed")
    func truncated() throws {
        let (home, file, intact) = try written()
        for length in stride(from: 0, to: intact.count, by: 11) {
            try intact.prefix(length).write(to: file)
            #expect(!home.cache().has("a"), "\(length) bytes")
        }
        try (intact + [0]).write(to: file)
        #expect(!home.cache().has("a"))
    }

    @Test("A file under another response's name is not served")
    func renamed() throws {
        let (home, file, intact) = try written()
        let other = CacheFolder.Name(
            slot: CacheSlot(number: CacheKey(cacheURL("b")).number, variant: 0), stored: 1)
        try intact.write(to: home.folder.appendingPathComponent(other.text))
        let cache = home.cache()
        #expect(!cache.has("b"))
        #expect(cache.has("a"))
        _ = file
    }

    @Test("Every file name that is written can be read, for dates before 1970, too", arguments: [1, 0, -1, .min, .max])
    func names(stored: Int64) {
        let name = CacheFolder.Name(slot: CacheSlot(number: 1, variant: .max), stored: stored)
        #expect(CacheFolder.Name(name.text[...]) == name)
    }

    @Test("Files that are not the cache's are left alone, and unfinished ones are removed")
    func otherFiles() throws {
        let (home, file, intact) = try written()
        try Data("mine".utf8).write(to: home.folder.appendingPathComponent("notes.txt"))
        try Data("mine".utf8).write(to: home.folder.appendingPathComponent("notes.new"))
        try intact.write(to: URL(fileURLWithPath: file.path + ".new"))
        try home.abandonUnfinishedFiles()
        let cache = home.cache()
        cache.removeAllCachedResponses()
        cache.store.flush()
        #expect(home.fileNames == ["notes.new", "notes.txt"])
    }

    @Test("A cache that begins leaves alone what another one is writing")
    func writtenMeanwhile() {
        let beginning = home.cache()
        let cache = home.cache(
            memory: 0, files: CrashingFiles(beforeStep: { if $0.hasPrefix("move") { _ = beginning.currentDiskUsage } }))
        cache.put("a")
        #expect(cache.has("a") && home.cache().has("a"))
    }

    @Test("The files of earlier processes make room, also for a program that only stores")
    func storingAlone() throws {
        for _ in 0..<4 {
            home.clock.advance(by: 1)
            home.cache(memory: 0).put("a")
        }
        #expect(home.fileNames.count == 1)
        for process in 0..<4 {
            let cache = home.cache(memory: 0, disk: 40_000)
            for number in 0..<10 { cache.put("\(process)-\(number)", size: 1500) }
        }
        let sizes = try home.fileNames.map { try Data(contentsOf: home.folder.appendingPathComponent($0)).count }
        #expect(sizes.count > 10 && sizes.reduce(0, +) <= 40_000)
    }

    @Test("What was removed without a disk capacity is not there when there is one", arguments: [true, false])
    func removedWithoutDisk(all: Bool) {
        home.cache().put("a", "b")
        let cache = home.cache(disk: 0)
        if all {
            cache.removeAllCachedResponses()
        } else {
            cache.removeCachedResponse(for: URLRequest(url: cacheURL("a")))
        }
        #expect(home.fileNames.count == 2, "without a capacity the folder is left alone")
        cache.diskCapacity = 1 << 20
        #expect(cache.names("a", "b") == (all ? [] : ["b"]))
        cache.store.flush()
        #expect(home.fileNames.count == (all ? 0 : 1))
    }

    @Test("A crash at any step of a write leaves the old response, the new one, or none")
    func crashes() throws {
        for steps in 0..<14 {
            let (home, _, _) = try written()
            let cache = home.cache(files: CrashingFiles(steps: steps))
            cache.put("a", size: 400)
            cache.store.flush()
            try home.abandonUnfinishedFiles()
            let next = home.cache()
            let size = next.cachedResponse(for: URLRequest(url: cacheURL("a")))?.data.count
            #expect(size == 300 || size == 400, "\(steps) steps")
            next.store.flush()
            #expect(home.fileNames.count == 1)
        }
    }

    @Test("Only the owner can read the files, and they hold no request field but those that Vary names")
    func privacy() throws {
        let cache = home.cache()
        var request = URLRequest(url: cacheURL("a"))
        request.setValue("Basic c2VjcmV0", forHTTPHeaderField: "Authorization")
        request.setValue("de", forHTTPHeaderField: "Accept-Language")
        cache.storeCachedResponse(serverResponse("a", fields: ["Vary": "Accept-Language"]), for: request)
        cache.store.flush()
        let file = home.folder.appendingPathComponent(try #require(home.fileNames.first))
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(!text.contains("c2VjcmV0"))
        #expect(text.contains("Accept-Language"))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("Without a writable folder the cache keeps responses in memory")
    func noFolder() throws {
        try Data().write(to: home.folder)
        let cache = home.cache()
        cache.put("a")
        cache.store.flush()
        #expect(cache.has("a"))
        #expect(cache.currentDiskUsage == 0)
    }
}
