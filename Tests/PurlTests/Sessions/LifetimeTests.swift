import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The lifetime of sessions and tasks", .timeLimit(.minutes(5)))
struct LifetimeTests {
    private let sandbox = Sandbox()

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 10_000))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/cut", .generated(size: 10_000).cut(afterBytes: 100))
        server.route("/stalled", .generated(size: 10_000).stalled(afterBytes: 100))
        return server
    }

    /// Weak references that have to become nil.
    private final class Traces {
        weak var session: URLSession?
        weak var task: URLSessionTask?
    }

    /// The course of the traced task.
    enum Story: CaseIterable, Sendable {
        case data, download, redirect, failure, cancellation, becomesDownload, handler, neverResumed
        case stub, stubThatFails, stubThatIsCancelled, dataURL
    }

    @Test("Tasks and session are released after the invalidation", arguments: Story.allCases)
    func invalidated(_ story: Story) async throws {
        let server = try makeServer()
        let traces = Traces()
        do {
            let witness = Witness(disposition: story == .becomesDownload ? .becomeDownload : .allow)
            let session = sandbox.session(witness) { $0.stub() }
            traces.session = session
            try await run(story, server, session, witness, traces)
            session.invalidateAndCancel()
            await witness.wait { $0.contains(.invalid) }
        }
        await server.waitUntilDisconnected()
        await NetworkThread.settle { traces.session == nil && traces.task == nil }
        #expect(traces.session == nil && traces.task == nil)
        #expect(sandbox.partialNames == [])
    }

    @Test(
        "Tasks and session are released without an invalidation",
        arguments: Story.allCases.filter { $0 != .neverResumed })
    func notInvalidated(_ story: Story) async throws {
        let server = try makeServer()
        let traces = Traces()
        do {
            let witness = Witness(disposition: story == .becomesDownload ? .becomeDownload : .allow)
            let session = sandbox.session(witness) { $0.stub() }
            traces.session = session
            try await run(story, server, session, witness, traces)
        }
        // The idle connection is closed with the session.
        await server.waitUntilDisconnected()
        await NetworkThread.settle { traces.session == nil && traces.task == nil }
        #expect(traces.session == nil && traces.task == nil)
    }

    @Test("A session without references finishes its tasks")
    func unreferenced() async throws {
        let server = try makeServer()
        let gate = ServerGate()
        server.route("/slow", .generated(size: 10_000).stalled(afterBytes: 100, until: gate))
        let witness = Witness()
        let traces = Traces()
        do {
            let session = sandbox.session(witness)
            traces.session = session
            session.downloadTask(with: server.url("/slow")).resume()
        }
        await witness.wait { $0.contains(.wrote(100, of: 10_000)) }
        gate.open()
        await witness.completion()
        #expect(witness.events == [.wrote(10_000, of: 10_000), .file(10_000), .completed(nil)])
        await server.waitUntilDisconnected()
        await NetworkThread.settle { traces.session == nil }
        #expect(traces.session == nil)
    }

    @Test("Many sessions can be made and released")
    func manySessions() async throws {
        let server = try makeServer()
        for _ in 0..<50 {
            _ = try await sandbox.session().data(from: server.url("/moved"))
        }
        await server.waitUntilDisconnected()
        #expect(server.acceptedConnections == 50)
    }

    private func run(
        _ story: Story, _ server: LoopbackServer, _ session: URLSession, _ witness: Witness, _ traces: Traces
    ) async throws {
        switch story {
        case .data, .becomesDownload: traces.task = session.dataTask(with: server.url("/file"))
        case .download: traces.task = session.downloadTask(with: server.url("/file"))
        case .redirect: traces.task = session.dataTask(with: server.url("/moved"))
        case .failure: traces.task = session.downloadTask(with: server.url("/cut"))
        case .cancellation: traces.task = session.dataTask(with: server.url("/stalled"))
        case .neverResumed: traces.task = session.dataTask(with: server.url("/file"))
        case .stub: traces.task = session.dataTask(with: try Stub.url("content"))
        case .stubThatFails: traces.task = session.dataTask(with: try Stub.url { $0.fail(URLError(.badURL)) })
        case .stubThatIsCancelled:
            traces.task = session.dataTask(
                with: try Stub.url { stub in
                    stub.respond()
                    stub.send(String(repeating: "x", count: 100))
                })
        case .dataURL: traces.task = session.dataTask(with: try #require(URL(string: "data:,content")))
        case .handler:
            await withCheckedContinuation { continuation in
                let task = session.downloadTask(with: server.url("/file")) { _, _, _ in continuation.resume() }
                traces.task = task
                task.resume()
            }
        }
        guard story != .neverResumed, story != .handler else { return }
        traces.task?.resume()
        if story == .cancellation || story == .stubThatIsCancelled {
            await witness.wait { $0.contains(.data(100)) }
            traces.task?.cancel()
        }
        await witness.completion()
    }
}

@Suite("File descriptors of sessions", .timeLimit(.minutes(5)))
struct DescriptorTests {
    @Test("300 transfers of every kind leave no descriptor open")
    func leaks() async {
        await #expect(processExitsWith: .success) {
            // A leak would stay, and the time limit does not end this process.
            alarm(240)
            let server = try LoopbackServer()
            server.route("/file", .generated(size: 50_000))
            server.route("/cut", .generated(size: 50_000).cut(afterBytes: 20_000))
            server.route("/moved", .redirect(302, to: "/file"))
            server.route("/reset", .generated(size: 50_000).reset(afterBytes: 100))
            server.route("/closing", .generated(size: 50_000).closingConnection())
            server.route("/deaf", .status(200).delayed(until: ServerGate()))
            let sandbox = Sandbox()
            try await DescriptorTests.transfer(30, server, sandbox)
            let before = DescriptorTests.openDescriptors
            try await DescriptorTests.transfer(300, server, sandbox)
            // The last references are released with a delay.
            await NetworkThread.settle { DescriptorTests.openDescriptors <= before }
            #expect(DescriptorTests.openDescriptors <= before)
            #expect(sandbox.partialNames == [])
        }
    }

    /// The number of the process's open descriptors but for those of timers: only Dispatch has such, and opens them whenever
    /// its thread gets to it.
    private static var openDescriptors: Int {
        let folder = "/proc/self/fd"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return numbers.count { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")
            return target != "anon_inode:[timerfd]"
        }
    }

    /// Makes `count` transfers of every kind, in sessions of ten; returns when all connections are closed.
    private static func transfer(_ count: Int, _ server: LoopbackServer, _ sandbox: Sandbox) async throws {
        for start in stride(from: 0, to: count, by: 10) {
            let witness = Witness(disposition: start.isMultiple(of: 20) ? .allow : .becomeDownload)
            let session = sandbox.session(witness)
            let tasks = [
                session.dataTask(with: server.url("/file")),
                session.downloadTask(with: server.url("/file")),
                session.dataTask(with: server.url("/moved")),
                session.downloadTask(with: server.url("/moved")),
                session.dataTask(with: server.url("/cut")),
                session.downloadTask(with: server.url("/reset")),
                session.downloadTask(with: server.url("/closing")),
                session.dataTask(with: URL(fileURLWithPath: "/nowhere")),
                session.dataTask(with: server.url("/nothing")),
                session.downloadTask(with: server.url("/deaf")),
            ]
            for task in tasks { task.resume() }
            await witness.completion(of: 9)
            tasks[9].cancel()
            session.finishTasksAndInvalidate()
            await witness.wait { $0.contains(.invalid) }
            let (file, _) = try await sandbox.session().download(from: server.url("/file"))
            try FileManager.default.removeItem(at: file)
        }
        await server.waitUntilDisconnected()
    }
}
