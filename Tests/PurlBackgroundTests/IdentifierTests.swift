import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("One session at a time has an identifier", .timeLimit(.minutes(5)))
struct IdentifierOwnershipTests {
    private let witness = Witness()
    private let home = BackgroundHome()
    private let server: LoopbackServer
    private let content = GeneratedContent(size: 10_000, seed: 4)

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .generated(content))
    }

    @Test("A second session with the identifier is invalid from the start")
    func second() async throws {
        let firstWitness = Witness()
        let first = home.makeSession(firstWitness)
        let witness = InvalidationWitness()
        let second = home.makeSession(witness)
        let error = await witness.error()
        expectError(error, .backgroundSessionInUseByAnotherProcess, about: nil)
        #expect(error?.failureSentence.contains(BackgroundHome.identifier) == true)
        #expect(await second.allTasks == [])
        #expect(second.delegate == nil)
        second.invalidateAndCancel()
        second.finishTasksAndInvalidate()
        #expect(await second.allTasks == [])
        #expect(witness.calls == 1)
        // The first session still works.
        let task = first.downloadTask(with: server.url("/file")).resumed()
        await firstWitness.completion()
        #expect(firstWitness.hasFile(of: task, content))
        first.finishTasksAndInvalidate()
        await firstWitness.wait { $0.last == .invalid }
    }

    @Test("The second session's tasks fail once, with its error, and send no request")
    func secondsTasks() async throws {
        let first = home.makeSession()
        let second = home.makeSession()
        let tasks: [URLSessionTask] = [
            second.downloadTask(with: server.url("/file")), second.dataTask(with: server.url("/file")),
            second.downloadTask(withResumeData: Data()),
        ]
        for task in tasks {
            task.delegate = witness
            task.resume()
            task.resume()
            task.cancel()
        }
        await witness.completion(of: 3)
        #expect(witness.events.allSatisfy { $0 != .completed(nil) })
        let handled = await withCheckedContinuation { continuation in
            second.dataTask(with: server.url("/file")) { _, _, error in continuation.resume(returning: error) }.resume()
        }
        expectError(handled, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        let thrown = await #expect(throws: URLError.self) { try await second.download(from: server.url("/file")) }
        expectError(thrown, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        let plain = second.downloadTask(with: server.url("/file"))
        plain.delegate = witness
        plain.resume()
        await witness.completion(of: 4)
        expectError(plain.error, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        #expect(witness.events.count == 4)
        #expect(server.requests.isEmpty)
        first.invalidateAndCancel()
    }

    @Test("Tasks that the second session resumes at once report to its delegate, before it is invalid")
    func secondsTasksAtOnce() async throws {
        let clock = ManualClock()
        let first = home.makeSession()
        let second = home.makeSession(witness) { $0.graceClock = clock }
        let tasks: [URLSessionTask] = [
            second.downloadTask(with: server.url("/file")), second.dataTask(with: server.url("/file")),
        ]
        for task in tasks { task.resume() }
        await witness.completion(of: 2)
        clock.advance(by: .milliseconds(250))
        await witness.wait { $0.last == .invalid }
        #expect(witness.events.count == 3)
        for task in tasks {
            expectError(task.error, .backgroundSessionInUseByAnotherProcess, about: server.url("/file"))
        }
        // The last call has returned when the queue runs another operation.
        #expect(await second.allTasks == [])
        #expect(second.delegate == nil)
        first.invalidateAndCancel()
    }

    @Test("The first session's tasks and files are not touched")
    func first() async throws {
        let killed = try await KilledDownload()
        let launch = await Launch(killed.home)
        let journal = try Data(contentsOf: killed.home.journal)
        let witness = InvalidationWitness()
        let second = killed.home.makeSession(witness) { $0.continuesDownloadsAfterRelaunch = true }
        _ = await witness.error()
        #expect(await second.allTasks == [])
        second.downloadTask(with: server.url("/file")).resume()
        _ = await launch.events()
        #expect(try Data(contentsOf: killed.home.journal).starts(with: journal))
        #expect(server.requests.isEmpty)
    }

    @Test("The identifier is free after the first session is invalid", arguments: [false, true])
    func invalidated(cancelling: Bool) async throws {
        for _ in 0..<3 {
            let witness = Witness()
            let session = home.makeSession(witness)
            let task = session.downloadTask(with: server.url("/file")).resumed()
            await witness.completion()
            #expect(witness.hasFile(of: task, content))
            if cancelling { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
            await witness.wait { $0.last == .invalid }
        }
    }

    @Test("The identifier is taken while the first session finishes its tasks")
    func finishing() async throws {
        let gate = ServerGate()
        server.route("/slow", .generated(content).stalled(afterBytes: 10, until: gate))
        let first = home.makeSession(witness)
        first.downloadTask(with: server.url("/slow")).resume()
        first.finishTasksAndInvalidate()
        let refused = InvalidationWitness()
        _ = home.makeSession(refused)
        #expect(await refused.error()?.code == .backgroundSessionInUseByAnotherProcess)
        gate.open()
        await witness.wait { $0.last == .invalid }
        let third = Witness()
        let session = home.makeSession(third)
        session.finishTasksAndInvalidate()
        await third.wait { $0.last == .invalid }
        #expect(third.events == [.invalid])
    }

    @Test("The identifier is free after the first session is released")
    func released() async throws {
        var first: URLSession? = home.makeSession()
        weak let dropped = first
        _ = try await first?.download(from: server.url("/file"))
        first = nil
        await NetworkThread.settle { dropped == nil }
        #expect(dropped == nil)
        let second = home.makeSession(witness)
        second.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events == [.invalid])
    }

    @Test("Sessions with different identifiers or folders work side by side")
    func different() async throws {
        let other = BackgroundHome(in: home.sandbox, named: "other")
        let configuration = URLSessionConfiguration.background(withIdentifier: "another")
        configuration.backgroundSessionsDirectory = home.folder
        let sessions = [
            home.makeSession(witness), other.makeSession(witness),
            URLSession(configuration: configuration, delegate: witness, delegateQueue: nil),
        ]
        for session in sessions {
            let (data, _) = try await session.data(from: server.url("/file"))
            #expect(content.matches(data) && data.count == content.size)
            #expect(witness.events == [])
        }
        for session in sessions { session.invalidateAndCancel() }
        await witness.wait { $0.count == 3 }
    }

    @Test("An identifier that another process has makes the session invalid")
    func otherProcess() async throws {
        let folder = home.folder
        let first = home.makeSession()
        await #expect(processExitsWith: .success) { [folder = folder as URL] in
            let configuration = URLSessionConfiguration.background(withIdentifier: BackgroundHome.identifier)
            configuration.backgroundSessionsDirectory = folder
            let witness = InvalidationWitness()
            let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
            let error = await witness.error()
            let tasks = await session.allTasks
            exit(error?.code == .backgroundSessionInUseByAnotherProcess && tasks.isEmpty ? 0 : 1)
        }
        first.invalidateAndCancel()
    }

    @Test("The identifier of a killed process is free")
    func killedProcess() async throws {
        let folder = home.folder
        server.route("/held", .generated(content).stalled(afterBytes: 5000))
        let url = server.url("/held")
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as URL, url = url as URL] in
            let configuration = URLSessionConfiguration.background(withIdentifier: BackgroundHome.identifier)
            configuration.backgroundSessionsDirectory = folder
            let witness = Witness()
            let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
            let task = session.downloadTask(with: url)
            task.taskDescription = "killed"
            task.resume()
            await witness.wait { $0.last == .wrote(5000, of: 10_000) }
            kill(getpid(), SIGKILL)
        }
        let launch = await Launch(home)
        #expect(launch.tasks.map(\.taskDescription) == ["killed"])
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
    }
}

/// A delegate that keeps the error with which its session became invalid.
final class InvalidationWitness: NSObject, URLSessionDelegate, Sendable {
    private let errors = EventLog<URLError?>()

    /// How often the session became invalid.
    var calls: Int { errors.events.count }

    /// The error of the first invalidation.
    func error() async -> URLError? {
        await errors.wait { !$0.isEmpty }
        return errors.events.first ?? nil
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        errors.append(error as? URLError)
    }
}

@Suite("The folder of a background session's identifier", .timeLimit(.minutes(5)))
struct SessionFolderTests {
    private let sandbox = Sandbox()
    private let home = BackgroundHome()
    static let strange = [
        "", ".", "..", "...", "/", "//", "/etc", "../escape", "a/../../escape", "a/b", "a\\b", "a b", "a%2Fb", "%",
        "%25",
        "a%", "\u{0}", "a\u{0}b", "a", "a.", ".a", "A", "a\nb", "\r\n", "~", "~root", "$HOME", "*", "-rf",
        "com.example.app",
        "下载", "🎬", "é", "\u{200F}", String(repeating: "x", count: 199), String(repeating: "x", count: 200),
        String(repeating: "x", count: 201), String(repeating: "x", count: 10_240),
        String(repeating: "x", count: 10_241),
        String(repeating: "/", count: 100), String(repeating: "../", count: 3000),
    ]

    @Test("Different identifiers have different folder names, also where letter case does not count")
    func names() throws {
        // The digest of a long identifier, and an identifier that is spelt like it.
        let longs = (0...).lazy.map { (number: Int) -> String in String(repeating: "x", count: 201) + "\(number)" }
        let long = try #require(
            longs.first { (name: String) -> Bool in
                let digest = Data(name.utf8).sha256
                return digest.hasPrefix("1") && digest.dropFirst().first?.isNumber == true
            })
        let digest = Data(long.utf8).sha256
        let byte = try #require(UInt8(digest.prefix(2), radix: 16))
        let spelt = String(Unicode.Scalar(byte)) + digest.dropFirst(2)
        let identifiers = Self.strange + ["com.example.App", "com.example.app", "COM.EXAMPLE.APP", long, spelt]
        let names = identifiers.map(FolderName.of)
        #expect(Set(names.map { $0.lowercased() }).count == Set(identifiers).count)
        for name in names {
            #expect(!name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255)
            #expect(!name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0))
        }
        #expect(FolderName.of("com.example.app-1_2") == "com.example.app-1_2")
        #expect(FolderName.of("App") == "%41pp")
    }

    @Test(
        "A folder with the former name of an identifier is found again",
        arguments: ["com.example.App", "A/b", String(repeating: "x", count: 201)])
    func formerName(identifier: String) async throws {
        let store = try home.store(SystemFiles())
        try store.add(home.record(7))
        store.close()
        let manager = FileManager.default
        let former = home.folder.appendingPathComponent(FolderName.former(identifier))
        try manager.moveItem(at: home.session, to: former)
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.backgroundSessionsDirectory = home.folder

        // Not while another session has it.
        let lock = try SystemFiles().open(former.appendingPathComponent("lock").path, .existing)
        #expect(try lock.lock())
        let witness = InvalidationWitness()
        _ = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        #expect(await witness.error()?.code == .backgroundSessionInUseByAnotherProcess)
        lock.unlock()

        configuration.graceClock = ManualClock()
        let session = URLSession(configuration: configuration)
        #expect(await session.allTasks.map(\.taskIdentifier) == [7])
        #expect(
            try manager.contentsOfDirectory(atPath: home.folder.path) == [FolderName.of(identifier)])
        session.invalidateAndCancel()
    }

    /// What lets another user write the tasks of a session.
    enum Opening: CaseIterable, Sendable {
        case groupMayWrite, othersMayWrite, link, otherOwner, journalMode, journalOwner, lockMode

        static var testable: [Opening] {
            allCases.filter { geteuid() == 0 || ($0 != .otherOwner && $0 != .journalOwner) }
        }

        func make(_ home: BackgroundHome) throws {
            let folder = home.session.path
            switch self {
            case .groupMayWrite: #expect(chmod(folder, 0o770) == 0)
            case .othersMayWrite: #expect(chmod(folder, 0o702) == 0)
            case .link:
                try FileManager.default.moveItem(at: home.session, to: home.sandbox.file("elsewhere"))
                try FileManager.default.createSymbolicLink(
                    at: home.session, withDestinationURL: home.sandbox.file("elsewhere"))
            case .otherOwner: #expect(chown(folder, 12_345, 0) == 0)
            case .journalMode: #expect(chmod(home.journal.path, 0o622) == 0)
            case .journalOwner: #expect(chown(home.journal.path, 12_345, 0) == 0)
            case .lockMode: #expect(chmod(home.session.appendingPathComponent("lock").path, 0o620) == 0)
            }
        }

        /// The beginning of the error's sentence, after the folder.
        var reason: String {
            switch self {
            case .groupMayWrite: "com.example.downloads can be written by other users (mode 770), "
            case .othersMayWrite: "com.example.downloads can be written by other users (mode 702), "
            case .link: "com.example.downloads is a symbolic link, "
            case .otherOwner: "com.example.downloads belongs to another user (12345), "
            case .journalMode: "tasks.v1.journal can be written by other users (mode 622), "
            case .journalOwner: "tasks.v1.journal belongs to another user (12345), "
            case .lockMode: "lock can be written by other users (mode 620), "
            }
        }
    }

    @Test("A session does not load tasks that another user could have written", arguments: Opening.testable)
    func openToOthers(_ opening: Opening) async throws {
        let secret = sandbox.file("secret")
        try Data("secret".utf8).write(to: secret)
        let server = try LoopbackServer()
        let url = server.route("/upload", .text("thanks"))
        let home = BackgroundHome(in: sandbox)
        let store = try home.store(SystemFiles())
        try store.add(
            JournaledTask(
                identifier: 1, priority: 0.5, originalRequest: StoredRequest(URLRequest(url: url)), isRunning: true,
                uploadedFile: secret.path))
        store.close()
        let journal = try Data(contentsOf: home.journal)
        try opening.make(home)
        let witness = InvalidationWitness()
        let session = home.makeSession(witness) { $0.continuesDownloadsAfterRelaunch = true }
        let error = await witness.error()
        expectError(error, .cannotOpenFile, about: nil)
        #expect(error?.failureSentence.contains(opening.reason) == true)
        #expect(posixCode(error) == Int(opening == .link ? ELOOP : EPERM))
        #expect(await session.allTasks == [])
        let thrown = await #expect(throws: URLError.self) { try await session.download(from: url) }
        expectError(thrown, .cannotOpenFile, about: url)
        #expect(server.requests.isEmpty)
        // What is there stays for its owner to look at.
        #expect(try Data(contentsOf: home.journal) == journal)
    }

    @Test("A session keeps its files in one folder inside the home, for any identifier", arguments: strange)
    func folder(identifier: String) async throws {
        let home = sandbox.file("home")
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 700_000, seed: 1)
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 600_000))
        func makeSession(_ witness: Witness) -> URLSession {
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.backgroundSessionsDirectory = home
            #expect(configuration.identifier == identifier)
            return URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        }
        let witness = Witness()
        let session = makeSession(witness)
        session.downloadTask(with: url).resume()
        await witness.wait { $0.last == .wrote(600_000, of: 700_000) }
        let manager = FileManager.default
        #expect(try manager.contentsOfDirectory(atPath: sandbox.folder.path) == ["home"])
        let names = try manager.contentsOfDirectory(atPath: home.path)
        #expect(names.count == 1)
        let folder = home.appendingPathComponent(try #require(names.first))
        #expect(
            try manager.contentsOfDirectory(atPath: folder.path).sorted() == ["Partials", "lock", "tasks.v1.journal"])
        let mode = try manager.attributesOfItem(atPath: folder.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o700)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        // The same identifier has the same folder.
        let second = Witness()
        let again = makeSession(second)
        #expect(again.configuration.identifier == identifier)
        again.finishTasksAndInvalidate()
        await second.wait { $0.last == .invalid }
        #expect(try manager.contentsOfDirectory(atPath: home.path) == names)
    }

    @Test("Only the owner can read a session's files")
    func permissions() async throws {
        let killed = try await KilledDownload()
        let before = BackgroundHome(in: killed.home.sandbox)
        for file in [before.journal, before.session.appendingPathComponent("lock")] {
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }
}
