import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Cancelling a Swift task that awaits a transfer", .timeLimit(.minutes(5)))
struct AsyncCancellationTests {
    private let sandbox = Sandbox()
    private let gate = ServerGate()

    /// The call that is cancelled.
    enum Call: CaseIterable, Sendable {
        case data, download

        func load(_ url: URL, by session: URLSession) async throws {
            switch self {
            case .data:
                _ = try await session.data(from: url)
            case .download:
                let (file, _) = try await session.download(from: url)
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    private func expectCancelled(_ task: Task<Void, any Error>, _ url: URL) async {
        let error = await #expect(throws: URLError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(error?.failingURL == url)
        #expect(error?.failureSentence.isEmpty == false)
    }

    @Test(
        "A call in a Swift task that is already cancelled throws cancelled and sends no request",
        arguments: Call.allCases)
    func beforeCall(_ call: Call) async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 1_000))
        let session = sandbox.session()
        for _ in 0..<50 {
            let gate = ServerGate()
            let task = Task {
                // Returns early because the Swift task is cancelled.
                await gate.reached()
                try await call.load(server.url("/file"), by: session)
            }
            task.cancel()
            await expectCancelled(task, server.url("/file"))
        }
        try await call.load(server.url("/file"), by: session)
        #expect(server.requests.count == 1)
        #expect(server.acceptedConnections == 1)
        #expect(sandbox.partialNames == [])
    }

    @Test(
        "A cancelled call that waits for a connection throws cancelled and sends no request", arguments: Call.allCases)
    func waitingForConnection(_ call: Call) async throws {
        let server = try LoopbackServer()
        server.route("/slow", .generated(size: 1_000).delayed(until: gate))
        let witness = TaskWitness()
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        async let first = session.data(from: server.url("/slow"))
        await gate.reached()
        let waiting = Task { try await call.load(server.url("/file"), by: session) }
        await witness.wait { $0.count { $0 == .created } == 2 }
        waiting.cancel()
        await expectCancelled(waiting, server.url("/file"))
        gate.open()
        #expect(try await first.0.count == 1_000)
        #expect(server.requests.map(\.path) == ["/slow"])
    }

    @Test("A call that is cancelled while it connects throws cancelled", arguments: Call.allCases)
    func whileConnecting(_ call: Call) async throws {
        let backlog = try #require(FullBacklog())
        let url = backlog.url
        let server = try LoopbackServer()
        let witness = TaskWitness()
        let session = sandbox.session(witness)
        let task = Task { try await call.load(url, by: session) }
        await witness.wait { $0.contains(.created) }
        // By the end of another exchange the dialling has begun.
        _ = try await session.data(from: server.url)
        #expect(await SessionTasks.unfinished(of: session).count == 1)
        task.cancel()
        await expectCancelled(task, url)
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        withExtendedLifetime(backlog) {}
    }

    @Test("A connection that is never accepted times out after timeoutIntervalForRequest", arguments: Call.allCases)
    func connectTimeout(_ call: Call) async throws {
        let backlog = try #require(FullBacklog())
        let session = sandbox.session { $0.timeoutIntervalForRequest = 0.2 }
        let error = await #expect(throws: URLError.self) { try await call.load(backlog.url, by: session) }
        #expect(error?.code == .timedOut)
        #expect(error?.failingURL == backlog.url)
        withExtendedLifetime(backlog) {}
    }

    @Test(
        "A call that is cancelled before the response throws cancelled and closes its connection",
        arguments: Call.allCases)
    func beforeResponse(_ call: Call) async throws {
        let server = try LoopbackServer()
        server.route("/deaf", .generated(size: 1_000).delayed(until: gate))
        let session = sandbox.session()
        let task = Task { try await call.load(server.url("/deaf"), by: session) }
        await gate.reached()
        task.cancel()
        await expectCancelled(task, server.url("/deaf"))
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
    }

    @Test("A call that is cancelled in the body throws cancelled and closes its connection", arguments: Call.allCases)
    func inBody(_ call: Call) async throws {
        let server = try LoopbackServer()
        server.route(
            "/file", .generated(size: 1_000_000).entityTag("\"v1\"").stalled(afterBytes: 300_000, until: gate))
        let session = sandbox.session()
        let task = Task { try await call.load(server.url("/file"), by: session) }
        await gate.reached()
        task.cancel()
        await expectCancelled(task, server.url("/file"))
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
        #expect(sandbox.partialNames == [])
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
    }

    @Test("A task group that throws cancels the transfers of its other tasks")
    func throwingGroup() async throws {
        let server = try LoopbackServer()
        server.route("/stalled", .generated(size: 1_000_000).stalled(afterBytes: 1_000))
        server.route("/cut", .generated(size: 1_000_000).delayed(by: .milliseconds(1)).cut(afterBytes: 1_000))
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { try await Call.download.load(server.url("/stalled"), by: session) }
                }
                await server.wait { $0.requests.count { $0.bytesSent == 1_000 } == 4 }
                group.addTask { try await Call.data.load(server.url("/cut"), by: session) }
                try await group.next()
            }
        }
        #expect(error?.code == .networkConnectionLost)
        await server.waitUntilDisconnected()
        #expect(sandbox.partialNames == [])
    }
}
