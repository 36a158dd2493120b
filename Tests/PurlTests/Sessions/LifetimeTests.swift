import Foundation
import Purl
import PurlTesting
import Testing

/// Sessions and tasks live as long as somebody needs them, and no longer.
@Suite(.timeLimit(.minutes(5))) struct LifetimeTests {
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

    /// What becomes of the task that is traced.
    enum Story: CaseIterable, Sendable {
        case data, download, redirect, failure, cancellation, becomesDownload, handler, neverResumed
        case stub, stubThatFails, stubThatIsCancelled, dataURL
    }

    @Test(arguments: Story.allCases)
    func tasksAndSessionAreFreedAfterInvalidation(_ story: Story) async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
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
        await Self.untilFreed { traces.session == nil && traces.task == nil }
        #expect(sandbox.partialNames == [])
    }

    @Test(arguments: Story.allCases.filter { $0 != .neverResumed })
    func tasksAndSessionAreFreedWithoutInvalidation(_ story: Story) async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
        let traces = Traces()
        do {
            let witness = Witness(disposition: story == .becomesDownload ? .becomeDownload : .allow)
            let session = sandbox.session(witness) { $0.stub() }
            traces.session = session
            try await run(story, server, session, witness, traces)
        }
        // The idle connection goes with the session.
        await server.waitUntilDisconnected()
        await Self.untilFreed { traces.session == nil && traces.task == nil }
    }

    @Test func aSessionNobodyHoldsFinishesItsTasks() async throws {
        let server = try makeServer()
        let gate = Gate()
        server.route("/slow", .generated(size: 10_000).stalled(afterBytes: 100, until: gate))
        let sandbox = try Sandbox()
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
        await Self.untilFreed { traces.session == nil }
    }

    @Test func manySessionsComeAndGo() async throws {
        let server = try makeServer()
        let sandbox = try Sandbox()
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

    /// Ends when the condition holds; what is in the way of that is a leak, and the suite's time limit tells.
    private static func untilFreed(_ isFreed: () -> Bool) async {
        while !isFreed() { await Task.yield() }
    }
}
