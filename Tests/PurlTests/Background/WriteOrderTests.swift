import Foundation
import PurlTesting
import Testing

@testable import Purl

/// A journal never says more than a power loss would leave: what it speaks of was made safe before.
@Suite(.timeLimit(.minutes(5))) struct WriteOrderTests {
    /// The claims that the journal makes at one moment, whatever of it arrives.
    private func entry(in call: FileCall, of recorded: RecordedDownload, _ disk: RecordedDisk) -> JournaledTask? {
        guard case .write(let number, _, let line) = call, disk.names[recorded.journal] == number,
            case .task(let record)? = JournalText.entries(in: line).first
        else { return nil }
        return record
    }

    private func partial(_ name: String, _ recorded: RecordedDownload) -> String {
        recorded.home.partials.appendingPathComponent(name).path
    }

    @Test(arguments: RecordedDownload.Story.allCases)
    func whatTheJournalSaysIsThereWasSynchronisedBefore(_ story: RecordedDownload.Story) async throws {
        let recorded = try await RecordedDownload(story, size: 2_500_000)
        #expect(recorded.error == nil)
        #expect(recorded.file.map { $0 == recorded.content } == true)
        var claims: Set<Int64> = []
        for (disk, call) in zip(recorded.files.disks, recorded.files.calls) {
            guard let record = entry(in: call, of: recorded, disk) else { continue }
            if let resume = record.resume {
                let path = partial(resume.partialName, recorded)
                let safe = try #require(disk.file(path)?.safe)
                let count = Int(resume.bytesReceived)
                claims.insert(resume.bytesReceived)
                #expect(disk.safeNames[path] == disk.names[path])
                #expect(safe.count >= count)
                #expect(disk.file(path)?.now.prefix(count) == safe.prefix(count))
                #expect(safe.prefix(count).suffix(65_536).sha256 == resume.tailDigest)
            }
            if let finished = record.finished {
                let path = partial(finished.partialName, recorded)
                #expect(finished.length == 2_500_000)
                #expect(disk.safeNames[path] == disk.names[path])
                #expect(disk.file(path).map { $0.safe == recorded.content } == true)
            }
        }
        // It was not silent all the time.
        #expect(claims.count >= (story == .fresh || story == .resourceChanged ? 2 : 1))
    }

    @Test func beforeAPartialIsEmptiedTheJournalHasForgottenItForGood() async throws {
        let recorded = try await RecordedDownload(.resourceChanged, size: 2_500_000)
        var cuts = 0
        for (disk, call) in zip(recorded.files.disks, recorded.files.calls) {
            guard case .truncate(let number, let length) = call, let content = disk.files[number]?.now,
                length < content.count
            else { continue }
            let journal = try #require(disk.file(recorded.journal))
            // Neither what is safe of the journal nor any later state of it speaks of the bytes that are cut off.
            for loss in RecordedDisk.Loss.allCases {
                for record in JournalText.records(in: journal.survivor(loss)).values {
                    if let resume = record.resume, disk.names[partial(resume.partialName, recorded)] == number {
                        #expect(resume.bytesReceived <= length)
                    }
                }
            }
            if length == 0 { cuts += 1 }
        }
        #expect(cuts == 1)
    }

    /// A download counts as whole only when the journal says so for good: then its delegate hears of it.
    @Test(arguments: RecordedDownload.Story.allCases)
    func theEndIsSafeBeforeTheFileIsGivenAway(_ story: RecordedDownload.Story) async throws {
        let recorded = try await RecordedDownload(story)
        let handover = recorded.files.calls.indices.first { index in
            entry(in: recorded.files.calls[index], of: recorded, recorded.files.disk(after: index))?.finished?
                .isHandedOver == true
        }
        let before = recorded.files.disk(after: try #require(handover))
        let safe = JournalText.records(in: try #require(before.file(recorded.journal)?.safe))
        #expect(safe.values.contains { $0.finished?.length == Int64(recorded.content.count) })
    }

    /// The name of a file is in its folder, and the folder's name in the one above.
    @Test func theNamesAreSafeBeforeTheJournalSpeaksOfBytes() async throws {
        let recorded = try await RecordedDownload(.fresh)
        let calls = recorded.files.calls
        let claim = calls.indices.first { index in
            entry(in: calls[index], of: recorded, recorded.files.disk(after: index))?.resume != nil
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

    /// The disk is full at the moment the old bytes are to be forgotten: then nobody may take them for new ones.
    @Test(arguments: [false, true]) func whenStartingOverFailsTheBytesAreNotThoseOfTheNewVersion(inJournal: Bool)
        async throws
    {
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
        let task = launch.session.downloadTask(withResumeData: blob)
        task.resume()
        await launch.witness.completion()
        #expect(launch.witness.file(of: task).map { $0 == recorded.content } == true)
        await launch.end()
    }
}
