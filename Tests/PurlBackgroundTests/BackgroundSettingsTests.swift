import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A background configuration and its folder", .timeLimit(.minutes(5)))
struct BackgroundSettingsTests {
    private let sandbox = Sandbox()
    private let home = BackgroundHome()

    @Test("A background configuration has the defaults of Apple's systems")
    func defaults() {
        let configuration = URLSessionConfiguration.background(withIdentifier: "com.example")
        #expect(configuration.identifier == "com.example")
        #expect(configuration.sessionSendsLaunchEvents)
        #expect(!configuration.isDiscretionary)
        #expect(configuration.allowsCellularAccess)
        #expect(configuration.sharedContainerIdentifier == nil)
        #expect(!configuration.continuesDownloadsAfterRelaunch)
        #expect(configuration.backgroundSessionsDirectory == nil)
        #expect(URLSessionConfiguration.default.identifier == nil)
        #expect(URLSessionConfiguration.ephemeral.identifier == nil)
    }

    @Test("A copy of a background configuration is equal and independent")
    func copy() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "com.example")
        let folder = URL(fileURLWithPath: "/somewhere")
        configuration.sessionSendsLaunchEvents = false
        configuration.isDiscretionary = true
        configuration.allowsCellularAccess = false
        configuration.sharedContainerIdentifier = "group"
        configuration.continuesDownloadsAfterRelaunch = true
        configuration.backgroundSessionsDirectory = folder
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        configuration.sessionSendsLaunchEvents = true
        configuration.isDiscretionary = false
        configuration.allowsCellularAccess = true
        configuration.sharedContainerIdentifier = nil
        configuration.continuesDownloadsAfterRelaunch = false
        configuration.backgroundSessionsDirectory = nil
        #expect(copy.identifier == "com.example")
        #expect(!copy.sessionSendsLaunchEvents)
        #expect(copy.isDiscretionary)
        #expect(!copy.allowsCellularAccess)
        #expect(copy.sharedContainerIdentifier == "group")
        #expect(copy.continuesDownloadsAfterRelaunch)
        #expect(copy.backgroundSessionsDirectory == folder)
    }

    @Test("A session keeps the background settings it was made with")
    func session() async throws {
        let configuration = home.configuration { configuration in
            configuration.isDiscretionary = true
            configuration.allowsCellularAccess = false
            configuration.sessionSendsLaunchEvents = false
        }
        let session = URLSession(configuration: configuration)
        configuration.isDiscretionary = false
        configuration.backgroundSessionsDirectory = nil
        #expect(session.configuration.identifier == BackgroundHome.identifier)
        #expect(session.configuration.isDiscretionary)
        #expect(!session.configuration.sessionSendsLaunchEvents)
        #expect(session.configuration.backgroundSessionsDirectory == home.folder)
        let url = try #require(URL(string: "http://127.0.0.1:9/"))
        #expect(session.downloadTask(with: url).originalRequest?.allowsCellularAccess == false)
        session.invalidateAndCancel()
    }

    @Test("A discretionary download starts at once")
    func discretionary() async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 1000, seed: 1)
        let url = server.route("/file", .generated(content))
        let witness = Witness()
        let session = home.makeSession(witness) { configuration in
            configuration.isDiscretionary = true
            configuration.allowsCellularAccess = false
        }
        let task = session.downloadTask(with: url).resumed()
        await witness.completion()
        #expect(witness.hasFile(of: task, content))
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
    }

    private func place(_ change: (inout URLSessionConfiguration.Values) -> Void) throws -> [String] {
        var values = URLSessionConfiguration.Values()
        values.identifier = BackgroundHome.identifier
        change(&values)
        return BackgroundFolder(try #require(values.background)).url.pathComponents
    }

    @Test("Sessions live in the configured folder, the program's, or the shared container's")
    func folder() throws {
        #expect(try place { $0.backgroundSessionsDirectory = URL(fileURLWithPath: "/a/b") } == ["/", "a", "b"])
        let own = try place { _ in }
        #expect(own.suffix(2) == [ProcessInfo.processInfo.processName, "BackgroundSessions"])
        #expect(
            try place { $0.sharedContainerIdentifier = "group.a" } == own.dropLast(2) + [
                "group.a", "BackgroundSessions",
            ])
        let climbing = try place { $0.sharedContainerIdentifier = "../../etc" }
        #expect(climbing.count == own.count)
        #expect(climbing.prefix(own.count - 2) == own.prefix(own.count - 2))
        #expect(!climbing.contains(".."))
    }

    @Test("Sessions live below XDG_DATA_HOME", arguments: [nil, "group.example"])
    func dataDirectory(container: String?) async throws {
        await #expect(processExitsWith: .success) {
            [path = sandbox.folder.path as String, container = container as String?] in
            setenv("XDG_DATA_HOME", path, 1)
            let configuration = URLSessionConfiguration.background(withIdentifier: "com.example")
            configuration.sharedContainerIdentifier = container
            let session = URLSession(configuration: configuration)
            _ = await session.allTasks
            let owner = container ?? ProcessInfo.processInfo.processName
            let journal = "\(path)/\(owner)/BackgroundSessions/com.example/tasks.v1.journal"
            exit(FileManager.default.fileExists(atPath: journal) ? 0 : 1)
        }
    }

    // MARK: Folders that cannot be used

    enum Blockade: CaseIterable, Sendable {
        case fileForHome, fileForFolder, homeInsideAFile, unwritable, danglingLink
        case folderForLock, folderForJournal, pipeForLock, pipeForJournal, linkForLock, linkForJournal

        var code: URLError.Code {
            switch self {
            case .fileForHome, .fileForFolder, .homeInsideAFile, .unwritable, .danglingLink: .cannotCreateFile
            case .folderForLock, .folderForJournal, .pipeForLock, .pipeForJournal, .linkForLock, .linkForJournal:
                .cannotOpenFile
            }
        }

        /// Builds it; returns the folder to use as home.
        func build(_ home: BackgroundHome) throws -> URL {
            let manager = FileManager.default
            let lock = home.session.appendingPathComponent("lock")
            let canary = home.sandbox.file("canary")
            try Data("canary".utf8).write(to: canary)
            let needsFolder = code == .cannotOpenFile
            try manager.createDirectory(
                at: needsFolder ? home.session : home.folder, withIntermediateDirectories: true)
            switch self {
            case .fileForHome: return canary
            case .fileForFolder: try Data().write(to: home.session)
            case .homeInsideAFile: return canary.appendingPathComponent("deeper")
            // Unwritable for the superuser, too, whom permissions do not stop.
            case .unwritable: return URL(fileURLWithPath: "/proc/background-sessions")
            case .danglingLink:
                try manager.createSymbolicLink(
                    at: home.session, withDestinationURL: home.sandbox.file("nowhere/at/all"))
            case .folderForLock: try manager.createDirectory(at: lock, withIntermediateDirectories: false)
            case .folderForJournal:
                try manager.createDirectory(at: home.journal, withIntermediateDirectories: false)
            case .pipeForLock: #expect(mkfifo(lock.path, 0o600) == 0)
            case .pipeForJournal: #expect(mkfifo(home.journal.path, 0o600) == 0)
            case .linkForLock: try manager.createSymbolicLink(at: lock, withDestinationURL: canary)
            case .linkForJournal: try manager.createSymbolicLink(at: home.journal, withDestinationURL: canary)
            }
            return home.folder
        }
    }

    @Test(
        "A folder that cannot be used fails the session and its tasks with a file error", arguments: Blockade.allCases)
    func unusableFolder(_ blockade: Blockade) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(size: 100))
        let folder = try blockade.build(home)
        let witness = InvalidationWitness()
        let session = home.makeSession(witness) { $0.backgroundSessionsDirectory = folder }
        let error = await witness.error()
        expectError(error, blockade.code, about: nil)
        #expect(posixCode(error) != nil)
        let taskError = await withCheckedContinuation { continuation in
            session.downloadTask(with: url) { _, _, error in continuation.resume(returning: error) }.resume()
        }
        expectError(taskError, blockade.code, about: url)
        #expect(server.requests.isEmpty)
        #expect(try Data(contentsOf: home.sandbox.file("canary")) == Data("canary".utf8))
        #expect(!FileManager.default.fileExists(atPath: home.sandbox.file("nowhere").path))
    }
}
