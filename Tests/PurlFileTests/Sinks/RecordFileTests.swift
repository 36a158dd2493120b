import Foundation
import PurlIO
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A sink's record file")
struct RecordFileTests {
    enum Moment: CaseIterable, Sendable {
        case beforeOpening, afterOpening
    }

    @Test("A record that two threads make safe is put in its place once", arguments: Moment.allCases)
    func twoSynchronisations(_ moment: Moment) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = InterruptedFiles(moment)
        let record = RecordFile(url: folder.appendingPathComponent("f.resume"), through: files)
        try record.save(Data("1".utf8))
        try record.synchronize()
        try record.save(Data("2".utf8))
        files.interrupt(with: { try? record.synchronize() })
        try record.synchronize()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["f.resume"])
        #expect(try record.load() == Data("2".utf8))
    }
}

/// The system's files, between whose calls something else happens once.
private final class InterruptedFiles: FileLayer {
    private let moment: RecordFileTests.Moment
    private let interruption = Mutex<(@Sendable () -> Void)?>(nil)
    private let files = SystemFiles()

    init(_ moment: RecordFileTests.Moment) {
        self.moment = moment
    }

    func interrupt(with action: @escaping @Sendable () -> Void) {
        interruption.withLock { $0 = action }
    }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        if moment == .beforeOpening { interrupt() }
        let file = try files.open(path, opening)
        if moment == .afterOpening { interrupt() }
        return file
    }

    func move(_ path: String, to newPath: String) throws(SystemError) { try files.move(path, to: newPath) }
    func entry(_ path: String) -> FileEntry { files.entry(path) }
    func removeExisting(_ path: String) throws(SystemError) -> Bool { try files.removeExisting(path) }
    func synchronizeFolder(_ path: String) throws(SystemError) { try files.synchronizeFolder(path) }

    private func interrupt() {
        let action = interruption.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}
