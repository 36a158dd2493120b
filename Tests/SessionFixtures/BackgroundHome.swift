import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl

/// A home folder of background sessions, and a copy of it as a killed process would leave it.
struct BackgroundHome {
    static let identifier = "com.example.downloads"

    let sandbox: Sandbox
    let folder: URL

    /// What tests write into a session's folder is theirs alone, as what a session writes is.
    private static let newFilesAreTheOwners: Void = { _ = umask(0o022) }()

    init(in sandbox: Sandbox, named name: String = "home") {
        Self.newFilesAreTheOwners
        self.sandbox = sandbox
        folder = sandbox.file(name)
    }

    init() {
        self.init(in: Sandbox())
    }

    /// The session's own folder.
    var session: URL { folder.appendingPathComponent(Self.identifier) }
    var journal: URL { session.appendingPathComponent("tasks.v1.journal") }
    var partials: URL { session.appendingPathComponent("Partials") }

    var partialNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: partials.path)) ?? []).sorted()
    }

    func configuration(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: Self.identifier)
        configuration.backgroundSessionsDirectory = folder
        change(configuration)
        return configuration
    }

    func makeSession(
        _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(of: configuration(change), delegate)
    }

    /// A copy as if the process were killed now: the journal is copied first, so that the files hold what it claims.
    func afterCrash(named name: String = "after") throws -> BackgroundHome {
        let copy = BackgroundHome(in: sandbox, named: name)
        let manager = FileManager.default
        try manager.createDirectory(at: copy.session, withIntermediateDirectories: true)
        try FolderChanges.copyFile(journal, to: copy.journal)
        guard manager.fileExists(atPath: partials.path) else { return copy }
        try manager.createDirectory(at: copy.partials, withIntermediateDirectories: false)
        for name in partialNames {
            try FolderChanges.copyFile(
                partials.appendingPathComponent(name), to: copy.partials.appendingPathComponent(name))
        }
        return copy
    }

    /// The same within a delegate's call, which cannot throw.
    func copyAfterCrash(named name: String = "after") {
        do {
            _ = try afterCrash(named: name)
        } catch {
            Issue.record(error)
        }
    }
}

/// The journal as text: reads and makes its lines.
enum JournalText {
    /// A line of the journal for any entry, with its digest.
    static func line(_ entry: Data) -> Data {
        Data("\(entry.sha256.prefix(16)) ".utf8) + entry + Data("\n".utf8)
    }

    static func line(_ entry: String) -> Data { line(Data(entry.utf8)) }

    /// The entries of a journal in order, without lines that do not match their digest.
    static func entries(in journal: Data) -> [JournalEntry] {
        journal.split(separator: UInt8(ascii: "\n")).compactMap { text in
            let entry = Data(text.dropFirst(17))
            guard line(entry).dropLast() == text else { return nil }
            return JournalEntry(decoding: entry)
        }
    }

    /// The records of the tasks that have not completed.
    static func records(in journal: Data) -> [Int: JournaledTask] {
        var records: [Int: JournaledTask] = [:]
        for entry in entries(in: journal) {
            switch entry {
            case .task(let record): records[record.identifier] = record
            case .over(let identifier): records[identifier] = nil
            }
        }
        return records
    }
}

extension BackgroundHome {
    var records: [Int: JournaledTask] {
        get throws { JournalText.records(in: try Data(contentsOf: journal)) }
    }

    /// Lets the machine boot: the journal was written before.
    func changeBoot() throws {
        let entries = JournalText.entries(in: try Data(contentsOf: journal)).map { entry in
            guard case .task(var record) = entry else { return entry }
            record.resume?.boot = "an earlier boot"
            return JournalEntry.task(record)
        }
        try entries.reduce(into: Data()) { $0.append(JournalText.line(try $1.encoded())) }.write(to: journal)
    }
}

/// A relaunched program: it makes its background session, and asks for the tasks at once.
struct Launch {
    let session: URLSession
    let witness: Witness
    /// The tasks the session found.
    let tasks: [URLSessionTask]

    /// - Parameters:
    ///   - limit: The resource's time-out.
    ///   - hook: Runs inside each call of the delegate.
    init(
        _ home: BackgroundHome, continuing: Bool = false, limit: TimeInterval = 604_800,
        hook: @escaping Witness.Hook = { _, _ in }
    ) async {
        witness = Witness(hook: hook)
        session = home.makeSession(witness) { configuration in
            configuration.continuesDownloadsAfterRelaunch = continuing
            configuration.timeoutIntervalForResource = limit
            // It waits to be asked, however late that is.
            configuration.graceClock = ManualClock()
        }
        tasks = await session.allTasks
    }

    var downloads: [URLSessionDownloadTask] { tasks.compactMap { $0 as? URLSessionDownloadTask } }

    /// The events up to `urlSessionDidFinishEvents`.
    func events() async -> [Witness.Event] {
        await witness.wait { $0.contains(.eventsFinished) }
        return witness.events
    }

    /// Invalidates the session, and returns all its events.
    func eventsUntilInvalid() async -> [Witness.Event] {
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        return witness.events
    }

    /// Ends the session and returns when its identifier is free.
    func end() async {
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
    }
}

extension BackgroundHome {
    /// Returns when the journal holds the text: entries are written before the delegate is called.
    func waitForJournal(toHold text: String) async throws {
        let text = Data(text.utf8)
        try await FolderChanges.wait(in: session) { (try? Data(contentsOf: journal))?.firstRange(of: text) != nil }
    }
}

/// A program with one download, which was killed when the server had sent a part of it.
struct KilledDownload {
    static let content = GeneratedContent(size: 1_500_000, seed: 11)
    static let path = "/file"
    static let tag = "\"v1\""

    let server: LoopbackServer
    /// The home the program left.
    let home: BackgroundHome

    /// What the journal holds of the bytes.
    enum Recorded: CaseIterable, Sendable {
        /// That some were to follow.
        case beginning
        /// That all of them had reached the disk.
        case checkpoint
    }

    /// - Parameters:
    ///   - count: How many bytes the server sends.
    ///   - start: A path that redirects to the file.
    ///   - reply: Changes the server's response, which has a strong entity tag.
    ///   - prepare: Runs before the task is resumed.
    ///   - finally: Runs before the kill.
    init(
        at count: Int = 1_000_000, recorded: Recorded = .beginning, in sandbox: Sandbox? = nil,
        startingAt start: String = path,
        reply: (Reply) -> Reply = { $0.entityTag(tag) },
        request: (URL) -> URLRequest = { URLRequest(url: $0) },
        prepare: (URLSessionDownloadTask) -> Void = { _ in }, finally: (URLSessionDownloadTask) async -> Void = { _ in }
    ) async throws {
        server = try LoopbackServer()
        server.route(Self.path, reply(.generated(Self.content)).stalled(afterBytes: count))
        if start != Self.path { server.route(start, .redirect(to: Self.path)) }
        let before = BackgroundHome(in: sandbox ?? Sandbox())
        let witness = Witness()
        // Where only the beginning is recorded, the second never passes after which a checkpoint is.
        let session = before.makeSession(witness) { if recorded == .beginning { $0.clock = ManualClock() } }
        let task = session.downloadTask(with: request(server.url(start)))
        prepare(task)
        task.resume()
        await witness.wait { events in
            switch events.last {
            case .wrote(Int64(count), _), .completed: true
            default: false
            }
        }
        if recorded == .checkpoint { try await before.waitForJournal(toHold: "\"bytesReceived\":\(count)") }
        await finally(task)
        home = try before.afterCrash()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        server.route(Self.path, reply(.generated(Self.content)))
        server.forgetRequests()
    }

    /// The `Range` fields of the requests since the kill.
    var ranges: [String?] { server.requests.map { $0.fields["Range"] } }
}

extension Witness {
    /// Whether the file of a task is the content; compared first, since an expectation would show megabytes.
    func hasFile(of task: URLSessionTask, _ content: GeneratedContent) -> Bool {
        guard let file = file(of: task) else { return false }
        return file.count == content.size && content.matches(file)
    }
}

extension BackgroundHome {
    /// A store in this home.
    ///
    /// - Parameters:
    ///   - schedule: Runs the compactions of the journal; at once, within the change that asks for one.
    ///   - encode: Encodes the entries.
    func store(
        _ files: any FileLayer, schedule: @escaping BackgroundStore.Schedule = { $0() },
        encode: @escaping BackgroundStore.Encode = { try $0.encoded() }
    ) throws -> BackgroundStore {
        var settings = configuration().snapshot
        settings.files = files
        return try BackgroundStore(try #require(settings.background), schedule: schedule, encode: encode)
    }

    /// A new download task with this identifier.
    func record(_ number: Int) throws -> JournaledTask {
        let url = try #require(URL(string: "http://127.0.0.1/\(number)"))
        return JournaledTask(identifier: number, priority: 0.5, originalRequest: StoredRequest(URLRequest(url: url)))
    }
}
