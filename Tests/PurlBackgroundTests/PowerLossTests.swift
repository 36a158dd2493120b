import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Relaunch after a power loss", .timeLimit(.minutes(5)))
struct PowerLossTests {
    private let sandbox = Sandbox()

    /// A disk after a power loss.
    private struct Wreck: Hashable {
        let files: [String: Data]
        /// The tasks that were entered for good and had not completed.
        let sure: Set<Int>
    }

    /// Every second one of the different disks that a power loss at any moment may leave.
    private func wrecks(of recorded: RecordedDownload) -> [Wreck] {
        var seen: Set<Wreck> = []
        var wrecks: [Wreck] = []
        for disk in recorded.files.disks {
            let journal = disk.file(recorded.journal)
            let known = JournalText.records(in: journal?.safe ?? Data())
            let kept = JournalText.records(in: journal?.now ?? Data())
            let sure = Set(known.keys).intersection(kept.keys)
            for journal in [RecordedDisk.Loss.all, .none, .torn, .zeros] {
                for partials in RecordedDisk.Loss.allCases {
                    for losesNames in [false, true] {
                        let files = disk.survivors(journal: journal, partials: partials, losesNames: losesNames)
                        let wreck = Wreck(files: files, sure: sure)
                        if seen.insert(wreck).inserted, seen.count % 2 == 0 { wrecks.append(wreck) }
                    }
                }
            }
        }
        return wrecks
    }

    private func rebuild(_ wreck: Wreck, of recorded: RecordedDownload, _ sandbox: Sandbox) throws -> BackgroundHome {
        let home = BackgroundHome(in: sandbox, named: "wreck")
        try? FileManager.default.removeItem(at: home.folder)
        for (path, data) in wreck.files {
            let file = URL(fileURLWithPath: home.folder.path + path.dropFirst(recorded.home.folder.path.count))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try data.write(to: file)
        }
        return home
    }

    /// Runs every task to its end: each delivered file is the server's.
    private func expectRightFiles(_ home: BackgroundHome, _ wreck: Wreck, _ contents: [Data]) async throws {
        let records = (try? home.records) ?? [:]
        let launch = await Launch(home, continuing: true)
        #expect(Set(launch.tasks.map(\.taskIdentifier)).isSuperset(of: wreck.sure))
        for task in launch.tasks where task.state == .suspended { task.resume() }
        await launch.witness.completion(of: launch.tasks.count)
        for task in launch.tasks {
            #expect(launch.witness.error(of: task) == nil)
            if let file = launch.witness.file(of: task) {
                let isRight = contents.contains(file)
                #expect(isRight)
            } else {
                // The earlier process had handed the file to its delegate.
                #expect(records[task.taskIdentifier]?.finished?.isHandedOver == true)
            }
        }
        await launch.end()
    }

    @Test(
        "After a power loss at any point the next process delivers only the server's bytes",
        arguments: RecordedDownload.Story.allCases)
    func anyPoint(_ story: RecordedDownload.Story) async throws {
        let recorded = try await RecordedDownload(story, size: 1_400_000)
        let wrecks = wrecks(of: recorded)
        for wreck in wrecks {
            let home = try rebuild(wreck, of: recorded, sandbox)
            try await expectRightFiles(home, wreck, [recorded.content])
        }
    }

    @Test("Bytes of a version in between are not mixed with a version that returned")
    func returningVersion() async throws {
        let recorded = try await RecordedDownload(.resourceChanged, size: 1_400_000)
        recorded.server.route(
            RecordedDownload.path, RecordedDownload.reply(recorded.oldContent, tag: "\"v1\""))
        for wreck in wrecks(of: recorded) {
            let home = try rebuild(wreck, of: recorded, sandbox)
            // A file that was finished before is delivered as it was.
            let isWhole = ((try? home.records) ?? [:]).values.contains { $0.finished != nil }
            try await expectRightFiles(
                home, wreck, [recorded.oldContent] + (isWhole ? [recorded.content] : []))
        }
    }
}
