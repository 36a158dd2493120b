import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The partial file of a resumed download", .timeLimit(.minutes(5)))
struct PartialFileTests {
    enum Damage: CaseIterable, Sendable {
        case missing, emptied, oneByteShort, firstByteOfTail, lastByte, symbolicLink, danglingLink, directory, pipe
        case folderMissing

        func apply(to file: URL, _ sandbox: Sandbox) throws {
            let manager = FileManager.default
            switch self {
            case .missing: try manager.removeItem(at: file)
            case .folderMissing: try manager.removeItem(at: file.deletingLastPathComponent())
            case .emptied: try truncate(file, to: 0)
            case .oneByteShort: try truncate(file, to: 99_999)
            case .firstByteOfTail: try flipByte(at: 100_000 - 65_536, of: file)
            case .lastByte: try flipByte(at: 99_999, of: file)
            case .symbolicLink:
                try manager.moveItem(at: file, to: sandbox.file("elsewhere"))
                try manager.createSymbolicLink(at: file, withDestinationURL: sandbox.file("elsewhere"))
            case .danglingLink:
                try manager.removeItem(at: file)
                try manager.createSymbolicLink(at: file, withDestinationURL: sandbox.file("elsewhere"))
            case .directory:
                try manager.removeItem(at: file)
                try manager.createDirectory(at: file, withIntermediateDirectories: false)
            case .pipe:
                try manager.removeItem(at: file)
                #expect(mkfifo(file.path, 0o600) == 0)
            }
        }

        /// Whether something that is not Purl's stays in the partial file's place.
        var leavesSomething: Bool {
            switch self {
            case .symbolicLink, .danglingLink, .directory, .pipe: true
            case .missing, .emptied, .oneByteShort, .firstByteOfTail, .lastByte, .folderMissing: false
            }
        }
    }

    @Test("A partial file that was changed or replaced is loaded again", arguments: Damage.allCases)
    func changed(_ damage: Damage) async throws {
        let paused = try await PausedDownload()
        let partial = try paused.partial
        try damage.apply(to: partial, paused.sandbox)
        let elsewhere = try? Data(contentsOf: paused.sandbox.file("elsewhere"))
        paused.answer(paused.sameResource)
        let outcome = await paused.resume()
        #expect(
            outcome.events == [
                .resumed(at: 0, of: 300_000), .wrote(300_000, of: 300_000), .file(300_000), .completed(nil),
            ])
        #expect(outcome.file == paused.content.data)
        #expect(paused.ranges == [nil])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == [nil])
        #expect((try? Data(contentsOf: paused.sandbox.file("elsewhere"))) == elsewhere)
        #expect(paused.sandbox.partialNames == (damage.leavesSomething ? [partial.lastPathComponent] : []))
    }

    @Test("Bytes beyond the recorded count are cut off", arguments: [1, 65_536, 500_000])
    func surplus(count: Int) async throws {
        let paused = try await PausedDownload()
        let handle = try FileHandle(forWritingTo: paused.partial)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(repeating: 0xAA, count: count))
        try handle.close()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
        #expect(paused.ranges == ["bytes=100000-"])
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("Damage is noticed in a file shorter than the digested tail", arguments: [1, 500, 65_535, 65_536, 65_537])
    func shortFile(size: Int) async throws {
        let content = GeneratedContent(size: 300_000, seed: 5)
        let damaged = try await PausedDownload(of: content, at: size)
        try flipByte(at: size - 1, of: damaged.partial)
        damaged.answer(damaged.sameResource)
        let outcome = await damaged.resume()
        #expect(outcome.file == content.data)
        #expect(outcome.resumedAt == [0])

        let sound = try await PausedDownload(of: content, at: size)
        sound.answer(sound.sameResource)
        #expect(await sound.resume().resumedAt == [Int64(size)])
    }

    @Test("Older resume data resumes at its own offset")
    func olderResumeData() async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource.cut(afterBytes: 50_000, times: 1))
        let lost = await paused.resume()
        #expect(lost.error?.code == .networkConnectionLost)
        let outcome = await paused.resume(paused.blob)
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
        #expect(paused.ranges == ["bytes=100000-", "bytes=100000-"])
    }

    @Test("Only the owner can read a partial file")
    func permissions() async throws {
        let paused = try await PausedDownload()
        let attributes = try FileManager.default.attributesOfItem(atPath: paused.partial.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let folder = try FileManager.default.attributesOfItem(atPath: paused.sandbox.partials.path)
        #expect((folder[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }
}

/// Cuts a file.
func truncate(_ file: URL, to length: UInt64) throws {
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: length)
    try handle.close()
}

/// Damages one byte of a file.
func flipByte(at offset: Int, of file: URL) throws {
    let handle = try FileHandle(forUpdating: file)
    try handle.seek(toOffset: UInt64(offset))
    let byte = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: UInt64(offset))
    try handle.write(contentsOf: Data([byte ^ 0x01]))
    try handle.close()
}
