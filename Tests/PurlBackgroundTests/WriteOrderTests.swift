import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("The journal claims only what is safe on disk", .timeLimit(.minutes(5)))
struct WriteOrderTests {
    /// The entry that this call writes to the journal, if it writes one.
    private func entry(in call: FileCall, of recorded: RecordedDownload, _ disk: RecordedDisk) -> JournaledTask? {
        guard case .write(let number, _, let line) = call, disk.names[recorded.journal] == number,
            case .task(let record)? = JournalText.entries(in: line).first
        else { return nil }
        return record
    }

    private func partial(_ name: String, _ recorded: RecordedDownload) -> String {
        recorded.home.partials.appendingPathComponent(name).path
    }

    /// What the resume data claims after a power loss.
    private func safe(_ resume: ResumeData) -> DigestedBytes { resume.claim(inBoot: "another").verified }

    @Test("Bytes are synchronised before the journal claims them", arguments: RecordedDownload.Story.allCases)
    func bytes(_ story: RecordedDownload.Story) async throws {
        let recorded = try await RecordedDownload(story, size: 2_500_000)
        #expect(recorded.error == nil)
        #expect(recorded.file.map { $0 == recorded.content } == true)
        var claims: Set<Int64> = []
        for (disk, call) in zip(recorded.files.disks, recorded.files.calls) {
            guard let record = entry(in: call, of: recorded, disk) else { continue }
            if let resume = record.resume {
                let path = partial(resume.partialName, recorded)
                let claim = safe(resume)
                let count = Int(claim.count)
                claims.insert(claim.count)
                if count > 0 {
                    let safe = try #require(disk.file(path)?.safe)
                    #expect(disk.safeNames[path] == disk.names[path])
                    #expect(safe.count >= count)
                    #expect(disk.file(path)?.now.prefix(count) == safe.prefix(count))
                    #expect(safe.prefix(count).suffix(65_536).sha256 == claim.tailDigest)
                }
            }
            if let finished = record.finished {
                let path = partial(finished.partialName, recorded)
                claims.insert(finished.length)
                #expect(finished.length == 2_500_000)
                #expect(disk.safeNames[path] == disk.names[path])
                #expect(disk.file(path).map { $0.safe == recorded.content } == true)
            }
        }
        // Some claims were made.
        #expect(claims.contains(2_500_000))
    }

    @Test("The journal's claim is withdrawn for good before a partial file is truncated")
    func truncation() async throws {
        let recorded = try await RecordedDownload(.resourceChanged, size: 2_500_000)
        var cuts = 0
        for (disk, call) in zip(recorded.files.disks, recorded.files.calls) {
            guard case .truncate(let number, let length) = call, let content = disk.files[number]?.now,
                length < content.count
            else { continue }
            let journal = try #require(disk.file(recorded.journal))
            // Neither the safe state of the journal nor any later one claims the bytes that are cut off.
            for loss in RecordedDisk.Loss.allCases {
                for record in JournalText.records(in: journal.survivor(loss)).values {
                    if let resume = record.resume, disk.names[partial(resume.partialName, recorded)] == number {
                        #expect(safe(resume).count <= length)
                    }
                }
            }
            if length == 0 { cuts += 1 }
        }
        #expect(cuts == 1)
    }

    @Test(
        "A finished file is entered for good before its delegate is called", arguments: RecordedDownload.Story.allCases)
    func end(_ story: RecordedDownload.Story) async throws {
        let recorded = try await RecordedDownload(story)
        let handover = recorded.files.calls.indices.first { index in
            entry(in: recorded.files.calls[index], of: recorded, recorded.files.disk(after: index))?.finished?
                .isHandedOver == true
        }
        let before = recorded.files.disk(after: try #require(handover))
        let safe = JournalText.records(in: try #require(before.file(recorded.journal)?.safe))
        #expect(safe.values.contains { $0.finished?.length == Int64(recorded.content.count) })
    }

    @Test("File names are synchronised before the journal claims their bytes")
    func names() async throws {
        let recorded = try await RecordedDownload(.fresh)
        let calls = recorded.files.calls
        let claim = calls.indices.first { index in
            let record = entry(in: calls[index], of: recorded, recorded.files.disk(after: index))
            return record?.finished != nil || record?.resume.map { safe($0).count > 0 } == true
        }
        let before = calls.prefix(try #require(claim))
        let disk = recorded.files.disk(after: before.count)
        #expect(disk.safeNames[recorded.journal] != nil)
        let folders = before.compactMap { call in
            if case .synchronizeFolder(let path) = call { path } else { nil }
        }
        for folder in [recorded.home.folder, recorded.home.session, recorded.home.partials] {
            #expect(folders.contains(folder.path))
        }
    }

    @Test(
        "Old bytes that could not be dropped on a full disk are not claimed for the new version",
        arguments: [false, true])
    func failedTruncation(inJournal: Bool) async throws {
        let recorded = try await RecordedDownload(
            .resourceChanged,
            failing: { call in
                switch call {
                case .write(_, _, let bytes): inJournal && bytes.firstRange(of: Data("{\"task\":".utf8)) != nil
                case .truncate(_, let length): !inJournal && length == 0
                case .open, .synchronize, .move, .remove, .synchronizeFolder: false
                }
            })
        #expect(recorded.error?.code == .cannotWriteToFile)
        guard let blob = recorded.error?.downloadTaskResumeData else { return }
        let launch = await Launch(recorded.home)
        let task = launch.session.downloadTask(withResumeData: blob).resumed()
        await launch.witness.completion()
        #expect(launch.witness.file(of: task).map { $0 == recorded.content } == true)
    }
}
