import Foundation
import PurlTesting

@testable import Purl

/// A background download from its first to its last call, with a record of what it did on disk.
struct RecordedDownload {
    /// How the download begins, and what it meets.
    enum Story: CaseIterable, Sendable {
        case fresh, goesOn, resourceChanged, goesOnFromResumeData
    }

    static let path = "/file"
    let server: LoopbackServer
    let home: BackgroundHome
    let files: RecordingFiles
    /// The resource as it is at the end, and, where it changed, as it was.
    let content: Data
    let oldContent: Data
    let error: URLError?
    let file: Data?

    /// - Parameters:
    ///   - size: Half a megabyte and more are recorded once, and again.
    ///   - fails: Which calls find the disk full.
    init(
        _ story: Story, size: Int = 700_000, failing fails: @escaping @Sendable (FileCall) -> Bool = { _ in false }
    ) async throws {
        let server = try LoopbackServer()
        let old = GeneratedContent(size: size, seed: 21).data
        var home = try BackgroundHome()
        var blob: Data?
        if story != .fresh {
            let url = server.route(
                Self.path, .bytes(old).entityTag("\"v1\"").stalled(afterBytes: size * 9 / 10))
            let witness = Witness()
            let session = home.makeSession(witness)
            let task = session.downloadTask(with: url)
            task.resume()
            await witness.wait { $0.last == .wrote(Int64(size * 9 / 10), of: Int64(size)) }
            home = try home.afterCrash(named: "recorded")
            session.invalidateAndCancel()
            await witness.wait { $0.last == .invalid }
            if story == .goesOnFromResumeData {
                let launch = await Launch(home)
                _ = await launch.events()
                blob = launch.tasks.first.flatMap { launch.witness.error(of: $0)?.downloadTaskResumeData }
                await launch.end()
            }
        }
        // The same length, the same end: only the first bytes and the tag differ, so that no digest of a tail helps.
        var new = old
        if story == .resourceChanged { for index in 0..<1000 { new[index] ^= 0xFF } }
        let url = server.route(Self.path, Self.reply(new, tag: story == .resourceChanged ? "\"v2\"" : "\"v1\""))
        server.forgetRequests()

        files = RecordingFiles(over: home, failing: fails)
        let witness = Witness()
        let session = home.makeSession(witness, through: files, continuing: true)
        let task: URLSessionTask?
        if let blob {
            task = session.downloadTask(withResumeData: blob)
            task?.resume()
        } else if story == .fresh {
            task = session.downloadTask(with: url)
            task?.resume()
        } else {
            task = await session.allTasks.first
        }
        await witness.completion()
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        file = task.flatMap { witness.file(of: $0) }
        error = task.flatMap { witness.error(of: $0) }
        (self.server, self.home, content, oldContent) = (server, home, new, old)
    }

    /// In pieces, so that there are some moments in between.
    static func reply(_ content: Data, tag: String) -> Reply {
        .bytes(content).entityTag(tag).inPieces(of: 100_000)
    }

    var journal: String { home.journal.path }
}
