import Foundation
import Purl
import PurlTesting

/// A program that was started again: it makes its background session, and at once asks for the tasks.
struct Launch {
    let session: URLSession
    let witness: Witness
    /// What came back.
    let tasks: [URLSessionTask]

    /// - Parameter hook: Runs inside each call of the delegate.
    init(
        _ home: BackgroundHome, continuing: Bool = false, hook: @escaping Witness.Hook = { _, _ in }
    ) async {
        witness = Witness(hook: hook)
        session = home.makeSession(witness) { $0.continuesDownloadsAfterRelaunch = continuing }
        tasks = await session.allTasks
    }

    var downloads: [URLSessionDownloadTask] { tasks.compactMap { $0 as? URLSessionDownloadTask } }

    /// All that was seen up to the end of the earlier process's events.
    func events() async -> [Witness.Event] {
        await witness.wait { $0.contains(.eventsFinished) }
        return witness.events
    }

    /// All that was seen up to the session's end, when nothing is to come but that.
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
    /// Returns when the journal holds the text: what it says is written before anybody is told.
    func waitForJournal(toHold text: String) async {
        let text = Data(text.utf8)
        while !Task.isCancelled, (try? Data(contentsOf: journal))?.firstRange(of: text) == nil { await Task.yield() }
    }
}

/// A program with one download, which was killed when the server had sent a part of it.
struct KilledDownload {
    static let content = GeneratedContent(size: 1_500_000, seed: 11)
    static let path = "/file"
    static let tag = "\"v1\""

    let server: LoopbackServer
    /// What the program left.
    let home: BackgroundHome

    /// - Parameters:
    ///   - count: How many bytes the server sends. More than half a megabyte are safe at some point.
    ///   - start: A path that redirects to the file.
    ///   - reply: Changes the server's answer, which has a strong entity tag.
    ///   - prepare: What the program does with its task before it starts it.
    ///   - finally: What it does before it is killed.
    init(
        at count: Int = 1_000_000, in sandbox: Sandbox? = nil, startingAt start: String = path,
        reply: (Reply) -> Reply = { $0.entityTag(tag) },
        request: (URL) -> URLRequest = { URLRequest(url: $0) },
        prepare: (URLSessionDownloadTask) -> Void = { _ in }, finally: (URLSessionDownloadTask) async -> Void = { _ in }
    ) async throws {
        server = try LoopbackServer()
        server.route(Self.path, reply(.generated(Self.content)).stalled(afterBytes: count))
        if start != Self.path { server.route(start, .redirect(to: Self.path)) }
        let before = BackgroundHome(in: try sandbox ?? Sandbox())
        let witness = Witness()
        let session = before.makeSession(witness)
        let task = session.downloadTask(with: request(server.url(start)))
        prepare(task)
        task.resume()
        await witness.wait { events in
            switch events.last {
            case .wrote(Int64(count), _), .completed: true
            default: false
            }
        }
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
