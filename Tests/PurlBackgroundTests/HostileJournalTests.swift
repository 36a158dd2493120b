import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A journal that Purl did not write", .timeLimit(.minutes(5)))
struct HostileJournalTests {
    private let content = GeneratedContent(size: 100_000, seed: 31)
    private let canary = Data("canary".utf8)
    private let server: LoopbackServer
    /// The home a killed process left: a download with 70,000 bytes on disk.
    private let home = BackgroundHome()
    private let honest: JournaledTask
    /// Another task's entry, which has to be found beside any other line.
    private let good: Data
    private let partial: URL

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\""))
        server.route("/good", .generated(content))
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

    /// The valid entry with the change.
    private func line(_ change: HostileChange) throws -> Data {
        let json = change.json?
            .replacingOccurrences(of: "CANARY", with: home.sandbox.file("canary").path)
            .replacingOccurrences(of: "PARTIAL", with: partial.lastPathComponent)
        let change = HostileChange((["task"] + change.path).joined(separator: "."), json)
        let object = try change.apply(
            to: JSONSerialization.jsonObject(with: JournalEntry.task(honest).encoded()), change.path[...])
        return JournalText.line(try JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed))
    }

    /// Opens a session on this journal: every task ends with the right file or an error, and other files stay.
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

    @Test("The unchanged entry resumes its download")
    func unchanged() async throws {
        try await expectNoHarm(line(HostileChange("unknown", "1")) + good, continuing: true)
        #expect(server.requests.compactMap { $0.fields["Range"] } == ["bytes=70000-"])
    }

    @Test("A changed entry does no harm", arguments: HostileChange.all)
    func changed(_ change: HostileChange) async throws {
        let journal = try line(change) + good
        try await expectNoHarm(journal, continuing: true)
        try writePartial()
        try await expectNoHarm(journal, continuing: false)
    }

    @Test(
        "A line that is no entry does no harm",
        arguments: [
            "{}", "[]", "null", "1", "\"task\"", "{\"task\":null}", "{\"over\":null}", "{\"over\":-1}",
            "{\"over\":1e99}",
            "{\"over\":\(Int.max)}", "{\"over\":\(Int.min)}", "{\"task\":{},\"over\":7}", "{\"over\":\"7\"}",
            "{\"more\":7}",
            "{\"task\":[]}", "", " ", "{", "\u{FEFF}{}", "{\"over\":8,\"over\":9}",
        ])
    func noEntry(text: String) async throws {
        try await expectNoHarm(JournalText.line(text) + good + JournalText.line(text), continuing: true)
    }

    @Test("A deeply nested line does not exhaust the stack", arguments: ["[", "{\"task\":", "{\"over\":["])
    func deepNesting(opening: String) async throws {
        let text = String(repeating: opening, count: 200_000 / opening.utf8.count)
        try await expectNoHarm(JournalText.line(text) + good, continuing: true)
    }

    @Test("Resume data of another resource than the request's is not used")
    func otherResource() async throws {
        let other = GeneratedContent(size: 100_000, seed: 77)
        let url = server.route("/other", .generated(other).entityTag("\"v1\""))
        try line(HostileChange("originalRequest.url", "\"\(url.absoluteString)\"")).write(to: home.journal)
        let launch = await Launch(home, continuing: true)
        let task = try #require(launch.tasks.first)
        #expect(task.originalRequest?.url == url)
        await launch.witness.completion()
        #expect(launch.witness.hasFile(of: task, other))
    }

    @Test("A line of 100 MB does not hide the entries before it")
    func longLine() async throws {
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
    }

    @Test(
        "A partial that is a folder, a pipe or a link is not opened and does not block",
        arguments: ["folder", "pipe", "link"])
    func partialIsNoFile(kind: String) async throws {
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

/// One change to a valid entry of a journal.
struct HostileChange: CustomStringConvertible, Sendable {
    /// The keys that lead to the value.
    let path: [String]
    /// The new value as JSON; `nil` removes the old one.
    let json: String?

    init(_ path: String, _ json: String?) {
        self.path = path.split(separator: ".").map(String.init)
        self.json = json
    }

    var description: String { "\(path.joined(separator: ".")): \((json ?? "none").prefix(60))" }

    /// The changed object.
    func apply(to object: Any, _ path: ArraySlice<String>) throws -> Any {
        guard let key = path.first else {
            return try JSONSerialization.jsonObject(with: Data((json ?? "").utf8), options: .fragmentsAllowed)
        }
        var entries = object as? [String: Any] ?? [:]
        if path.count == 1, json == nil {
            entries[key] = nil
        } else {
            entries[key] = try apply(to: entries[key] ?? [:] as [String: Any], path.dropFirst())
        }
        return entries
    }

    // MARK: The table

    static let all: [HostileChange] =
        table.flatMap { path, values in values.map { HostileChange(path, $0) } }
        + names.flatMap { name in
            [HostileChange("resume.partialName", "\"\(name)\""), HostileChange("finished", finished(name, "6"))]
        }
        + ["-1", "\(Int64.max)", "0", "1000000"].map { HostileChange("finished", finished("PARTIAL", $0)) }

    private static func finished(_ name: String, _ length: String) -> String {
        """
        {"partialName":"\(name)","length":\(length),"url":"","status":-99999999999,"headers":{"a":"b"},\
        "isHandedOver":false}
        """
    }

    /// CANARY stands for the path of a file outside.
    private static let names: [String] = [
        "../canary", "../../canary", "../../../canary", "CANARY", "/etc/passwd", "", ".", "..", "lock", "../lock",
        "../tasks.v1.journal", "tasks.v1.journal", "purl-.partial", "purl-x/../../../../canary.partial",
        "../Partials/purl-00000000-0000-0000-0000-000000000000.partial",
        "purl-00000000-0000-0000-0000-000000000000.partial", String(repeating: "n", count: 5000), "a\\u0000b", "a\\nb",
    ]

    private static let counts: [String?] = [
        "-1", "0", "1", "\(Int64.min)", "\(Int64.max)", "1499999", "1500000", "1500001", "99999999999", "0.5", "\"1\"",
        nil,
    ]

    private static let urls: [String?] = [
        "\"\"", "\"::\"", "\"%\"", "\"file:///etc/passwd\"", "\"/file\"", "7", nil, "\"http://\"",
        "\"https://127.0.0.1/\"",
    ]

    private static let methods: [String?] = [
        "\"\"", "\"POST\"", "\"GET / HTTP/1.1\\r\\nX-Evil: 1\\r\\n\"", "\"get\"", "1", nil,
    ]

    private static let table: [(String, [String?])] = [
        ("identifier", ["0", "-1", "\(Int.min)", "\(Int.max)", "\(Int.max - 1)", "\(Int.max / 2)"]),
        (
            "identifier",
            ["\(Int.max / 2 - 1)", "1.5", "\"1\"", "1e100", "null", "[]", nil, "3", "18446744073709551616"]
        ),
        ("originalRequest.url", urls),
        ("resume.currentRequest.url", urls),
        ("originalRequest.method", methods),
        ("resume.originalRequest.method", methods),
        ("originalRequest.headers", ["{\"X\":\"a\\r\\nX-Evil: 1\"}", "{\"X\\r\\nX-Evil\":\"1\"}", "{\"\":\"\"}"]),
        ("originalRequest.headers", ["[]", "{\"X\":1}", nil]),
        ("originalRequest.timeoutInterval", ["-1", "1e308", "0", "\"soon\"", "\"nan\"", "\"inf\"", "null"]),
        ("originalRequest.body", ["\"*\"", "\"\"", "{}"]),
        ("resume.bytesReceived", counts),
        ("resume.totalBytes", counts),
        ("resume.validator", ["\"W/\\\"v1\\\"\"", "\"v1\"", "\"\\\"v1\\\"\\r\\nX-Evil: 1\"", "null", "1"]),
        ("resume.tailDigest", ["\"\"", "\"\(String(repeating: "0", count: 64))\"", "null"]),
        ("resume.version", ["2", "-1", "null"]),
        ("resume", ["null", "{}", "[]", "\"text\"", "[[[[[[]]]]]]"]),
        ("priority", ["1e30", "-5", "\"high\"", "null", "\"nan\"", "\"inf\""]),
        ("isRunning", ["\"yes\"", "1", "null"]),
        ("taskDescription", ["1", "\"\(String(repeating: "d", count: 1 << 20))\""]),
        ("finished", ["null", "{}", "true"]),
        ("unknown", ["{\"a\":[1,2,3]}"]),
        ("", ["[]"]),
    ]
}
