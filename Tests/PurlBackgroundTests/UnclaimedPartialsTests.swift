import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Unclaimed partial files are removed after 30 days", .timeLimit(.minutes(5)))
struct UnclaimedPartialsTests {
    private static let day: TimeInterval = 24 * 60 * 60
    private let sandbox = Sandbox()
    private let folder: PartialsFolder
    private let now = Date()

    init() throws {
        folder = PartialsFolder(sandbox.partials, files: SystemFiles())
        try FileManager.default.createDirectory(at: sandbox.partials, withIntermediateDirectories: true)
    }

    private func name(_ number: Int) -> String {
        "purl-00000000-0000-0000-0000-\(String(repeating: "0", count: 12 - "\(number)".count))\(number).partial"
    }

    @discardableResult
    private func make(_ name: String, days: Double, in folder: URL? = nil) throws -> URL {
        let file = (folder ?? sandbox.partials).appendingPathComponent(name)
        try Data("bytes".utf8).write(to: file)
        try age(file, days: days)
        return file
    }

    private func age(_ file: URL, days: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: now.addingTimeInterval(-days * Self.day)], ofItemAtPath: file.path)
    }

    @Test(
        "A partial file is removed when its last write is more than 30 days ago",
        arguments: [
            (0, true), (1, true), (29, true), (29.999, true), (30.001, false), (31, false), (10_000, false), (-5, true),
        ] as [(Double, Bool)])
    func age(days: Double, stays: Bool) throws {
        try make(name(1), days: days)
        folder.removeUnclaimed(except: [], at: now)
        #expect(sandbox.partialNames == (stays ? [name(1)] : []))
    }

    @Test("A partial file that stays is removed once it is 30 days old")
    func ageing() throws {
        try make(name(1), days: 0)
        folder.removeUnclaimed(except: [], at: now.addingTimeInterval(29 * Self.day))
        #expect(sandbox.partialNames == [name(1)])
        folder.removeUnclaimed(except: [], at: now.addingTimeInterval(31 * Self.day))
        #expect(sandbox.partialNames == [])
    }

    @Test("A claimed partial file stays")
    func claimed() throws {
        for number in 1...4 { try make(name(number), days: 400) }
        folder.removeUnclaimed(except: [name(2), name(4), "another file"], at: now)
        #expect(sandbox.partialNames == [name(2), name(4)])
    }

    @Test("A partial file in use stays, however old")
    func locked() async throws {
        let file = PartialFile(creatingIn: folder)
        try file.append(Data("bytes".utf8))
        try age(file.location, days: 400)
        folder.removeUnclaimed(except: [], at: now)
        #expect(sandbox.partialNames == [file.name])
        file.close()
        // The file may be locked for a moment: the library looks through the folder by itself, too.
        await NetworkThread.settle {
            folder.removeUnclaimed(except: [], at: now)
            return sandbox.partialNames.isEmpty
        }
        #expect(sandbox.partialNames == [])
    }

    @Test(
        "Files that are not named like a partial file stay",
        arguments: [
            "notes.txt", ".hidden", "purl-.partial", "purl-notes.partial",
            "00000000-0000-0000-0000-000000000001.partial",
            "purl-00000000-0000-0000-0000-000000000001", "purl-00000000-0000-0000-0000-000000000001.partial.resume",
            "purl-00000000-0000-0000-0000-000000000001.partial~", "purl-0000000-0000-0000-0000-000000000001.partial",
            "xpurl-00000000-0000-0000-0000-000000000001.partial", "film.mp4", "film.mp4.resume", "lock",
        ])
    func otherNames(name: String) throws {
        try make(name, days: 400)
        folder.removeUnclaimed(except: [], at: now)
        #expect(sandbox.partialNames == [name])
    }

    @Test("Links, folders and pipes named like a partial file stay")
    func noFiles() throws {
        let outside = try make("outside", days: 400, in: sandbox.folder)
        let manager = FileManager.default
        try manager.createSymbolicLink(
            at: sandbox.partials.appendingPathComponent(name(1)), withDestinationURL: outside)
        let inner = sandbox.partials.appendingPathComponent(name(2))
        try manager.createDirectory(at: inner, withIntermediateDirectories: false)
        try make("inside", days: 400, in: inner)
        try age(inner, days: 400)
        let pipe = sandbox.partials.appendingPathComponent(name(3))
        #expect(mkfifo(pipe.path, 0o600) == 0)
        try age(pipe, days: 400)
        folder.removeUnclaimed(except: [], at: now.addingTimeInterval(400 * Self.day))
        #expect(sandbox.partialNames == [name(1), name(2), name(3)])
        #expect(try Data(contentsOf: outside) == Data("bytes".utf8))
        #expect(manager.fileExists(atPath: inner.appendingPathComponent("inside").path))
    }

    @Test("A missing folder is not created")
    func missingFolder() {
        let missing = PartialsFolder(sandbox.file("missing"), files: SystemFiles())
        missing.removeUnclaimed(except: [], at: now)
        #expect(!FileManager.default.fileExists(atPath: missing.url.path))
    }

    @Test("A background session removes old partial files that its journal does not name")
    func backgroundSession() async throws {
        let killed = try await KilledDownload(finally: { $0.suspend() })
        let known = try #require(killed.home.partialNames.first)
        try age(killed.home.partials.appendingPathComponent(known), days: 400)
        let old = try make(name(1), days: 31, in: killed.home.partials)
        let young = try make(name(2), days: 29, in: killed.home.partials)
        let launch = await Launch(killed.home, continuing: true)
        try await FolderChanges.wait(in: killed.home.partials) { !FileManager.default.fileExists(atPath: old.path) }
        #expect(killed.home.partialNames == [name(2), known].sorted())
        let task = try #require(launch.tasks.first)
        task.resume()
        await launch.witness.completion()
        #expect(launch.witness.hasFile(of: task, KilledDownload.content))
        #expect(!killed.ranges.contains(nil))
        await launch.end()
        #expect(killed.home.partialNames == [young.lastPathComponent])
    }
}
