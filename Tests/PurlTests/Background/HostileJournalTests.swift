import Foundation
import PurlTesting
import Testing

@testable import Purl

/// A journal somebody else wrote, with digests that fit: never a crash, never a file touched outside the session's
/// folder, never a wrong file.
@Suite(.timeLimit(.minutes(5))) struct HostileJournalTests {
    private let content = GeneratedContent(size: 100_000, seed: 31)
    private let canary = Data("canary".utf8)
    private let server: LoopbackServer
    /// What a killed process left: a download of which 70,000 bytes are there.
    private let home: BackgroundHome
    private let honest: JournaledTask
    /// Another task's entry, which has to come back whatever stands beside it.
    private let good: Data
    private let partial: URL

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\""))
        server.route("/good", .generated(content))
        home = try BackgroundHome()
        partial = home.partials.appendingPathComponent("purl-12345678-1234-1234-1234-123456789abc.partial")
        let request = StoredRequest(URLRequest(url: server.url("/file")))
        var honest = JournaledTask(identifier: 1, priority: 0.5, originalRequest: request)
        honest.isRunning = true
        honest.resume = ResumeData(
            originalRequest: request, currentRequest: request, partialName: partial.lastPathComponent,
            bytesReceived: 70_000, totalBytes: 100_000, validator: "\"v1\"",
            tailDigest: content.bytes((70_000 - 65_536)..<70_000).sha256)
        self.honest = honest
        var good = JournaledTask(
            identifier: 7, priority: 0.5, originalRequest: StoredRequest(URLRequest(url: server.url("/good"))))
        good.isRunning = true
        self.good = try JournalText.line(JournalEntry.task(good).encoded())
        try writePartial()
        for folder in [home.sandbox.folder, home.folder, home.session] {
            try canary.write(to: folder.appendingPathComponent("canary"))
        }
    }

    private func writePartial() throws {
        try FileManager.default.createDirectory(at: home.partials, withIntermediateDirectories: true)
        try content.bytes(0..<75_000).write(to: partial)
    }

    /// The honest entry, changed.
    private func line(_ change: HostileChange) throws -> Data {
        let json = change.json?
            .replacingOccurrences(of: "CANARY", with: home.sandbox.file("canary").path)
            .replacingOccurrences(of: "PARTIAL", with: partial.lastPathComponent)
        let change = HostileChange((["task"] + change.path).joined(separator: "."), json)
        let object = try change.apply(
            to: JSONSerialization.jsonObject(with: JournalEntry.task(honest).encoded()), change.path[...])
        return JournalText.line(try JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed))
    }

    /// Everything comes to an end, rightly, and nothing else is touched.
    private func expectNoHarm(_ journal: Data, continuing: Bool) async throws {
        try journal.write(to: home.journal)
        let around = try FileManager.default.contentsOfDirectory(atPath: home.sandbox.folder.path).sorted()
        let launch = await Launch(home, continuing: continuing)
        #expect(launch.tasks.contains { $0.taskIdentifier == 7 })
        #expect(launch.session.downloadTask(with: server.url("/good")).taskIdentifier > 7)
        for task in launch.tasks { task.resume() }
        await launch.witness.completion(of: launch.tasks.count)
        for task in launch.tasks {
            if let file = launch.witness.file(of: task) {
                let isRight = file == content.data
                #expect(isRight, "\(task.taskIdentifier)")
            } else {
                #expect(launch.witness.error(of: task) != nil)
            }
            #expect(task.priority >= 0 && task.priority <= 1)
            if task.taskIdentifier == 7 { #expect(launch.witness.hasFile(of: task, content) == continuing) }
        }
        await launch.end()
        for folder in [home.sandbox.folder, home.folder, home.session] {
            #expect(try Data(contentsOf: folder.appendingPathComponent("canary")) == canary)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.sandbox.folder.path).sorted() == around)
        #expect(server.requests.allSatisfy { $0.fields["X-Evil"] == nil })
        #expect(server.record.badRequests.isEmpty)
    }

    @Test func theHonestEntryGoesOn() async throws {
        try await expectNoHarm(line(HostileChange("unknown", "1")) + good, continuing: true)
        #expect(server.requests.compactMap { $0.fields["Range"] } == ["bytes=70000-"])
    }

    @Test(arguments: HostileChange.all) func anEntryThatLies(_ change: HostileChange) async throws {
        let journal = try line(change) + good
        try await expectNoHarm(journal, continuing: true)
        try writePartial()
        try await expectNoHarm(journal, continuing: false)
    }

    @Test(arguments: [
        "{}", "[]", "null", "1", "\"task\"", "{\"task\":null}", "{\"over\":null}", "{\"over\":-1}", "{\"over\":1e99}",
        "{\"over\":\(Int.max)}", "{\"over\":\(Int.min)}", "{\"task\":{},\"over\":7}", "{\"over\":\"7\"}",
        "{\"more\":7}",
        "{\"task\":[]}", "", " ", "{", "\u{FEFF}{}", "{\"over\":8,\"over\":9}",
    ])
    func anEntryThatIsNone(text: String) async throws {
        try await expectNoHarm(JournalText.line(text) + good + JournalText.line(text), continuing: true)
    }

    /// A parser that descends into itself must not use up the stack.
    @Test(arguments: ["[", "{\"task\":", "{\"over\":["]) func deepNesting(opening: String) async throws {
        let text = String(repeating: opening, count: 200_000 / opening.utf8.count)
        try await expectNoHarm(JournalText.line(text) + good, continuing: true)
    }

    /// The resume data speaks of another resource than the request: its bytes are not this one's.
    @Test func resumeDataOfAnotherResource() async throws {
        let other = GeneratedContent(size: 100_000, seed: 77)
        let url = server.route("/other", .generated(other).entityTag("\"v1\""))
        try line(HostileChange("originalRequest.url", "\"\(url.absoluteString)\"")).write(to: home.journal)
        let launch = await Launch(home, continuing: true)
        let task = try #require(launch.tasks.first)
        #expect(task.originalRequest?.url == url)
        await launch.witness.completion()
        #expect(launch.witness.hasFile(of: task, other))
        await launch.end()
    }

    /// More than any journal holds: what stands before it counts.
    @Test func aLineOf100Megabytes() async throws {
        try good.write(to: home.journal)
        let handle = try FileHandle(forWritingTo: home.journal)
        try handle.truncate(atOffset: 100_000_000)
        try handle.close()
        let launch = await Launch(home, continuing: true)
        let task = try #require(launch.tasks.first)
        await launch.witness.completion()
        #expect(launch.witness.hasFile(of: task, content))
        await launch.end()
        let next = await Launch(home)
        #expect(next.tasks == [])
        await next.end()
    }

    /// A partial file that became something else is not opened, and does not block.
    @Test(arguments: ["folder", "pipe", "link"]) func thePartialIsSomethingElse(kind: String) async throws {
        let manager = FileManager.default
        let moved = home.sandbox.file("moved")
        try manager.moveItem(at: partial, to: moved)
        switch kind {
        case "folder": try manager.createDirectory(at: partial, withIntermediateDirectories: false)
        case "pipe": #expect(mkfifo(partial.path, 0o600) == 0)
        default: try manager.createSymbolicLink(at: partial, withDestinationURL: moved)
        }
        try await expectNoHarm(line(HostileChange("unknown", "1")) + good, continuing: true)
        let isUntouched = try Data(contentsOf: moved) == content.bytes(0..<75_000)
        #expect(isUntouched)
    }
}
