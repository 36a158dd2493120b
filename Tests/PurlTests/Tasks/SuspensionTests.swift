import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Suspending a task", .timeLimit(.minutes(5)))
struct SuspensionTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let gate = ServerGate()
    private let content = GeneratedContent(size: 400_000, seed: 6)

    @Test("A task suspended before the response receives nothing until it is resumed", arguments: [true, false])
    func beforeResponse(_ isDownload: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).delayed(until: gate))
        let session = sandbox.session(witness)
        let task =
            isDownload ? session.downloadTask(with: server.url("/file")) : session.dataTask(with: server.url("/file"))
        task.resume()
        await gate.reached()
        task.suspend()
        gate.open()
        await server.waitUntilIdle()
        _ = try await session.data(from: server.url("/nothing"))
        #expect(witness.events == [])
        #expect(task.response == nil)
        task.resume()
        await witness.completion()
        #expect(server.requests.map(\.path) == ["/file", "/nothing"])
        if isDownload {
            #expect(witness.events == [.wrote(400_000, of: 400_000), .file(400_000), .completed(nil)])
            #expect(witness.file(of: task) == content.data)
        } else {
            #expect(witness.events == [.response(200), .data(400_000), .completed(nil)])
            #expect(witness.data(of: task) == content.data)
        }
        #expect(sandbox.partialNames == [])
    }

    @Test("A task suspended before it connects sends nothing until it is resumed")
    func beforeConnection() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/file"))
        for _ in 0..<50 {
            task.resume()
            task.suspend()
        }
        task.resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(400_000), .completed(nil)])
        #expect(server.requests.count == 1)
    }

    @Test("Suspending a task in the body stops the server from sending", arguments: [true, false])
    func inBody(_ isDownload: Bool) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 8)
        server.route("/big", .generated(content).stalled(afterBytes: 500_000, until: gate))
        server.route("/other", .generated(size: 3 << 20))
        let check = BodyCheck(content)
        let session = sandbox.session(check)
        let others = sandbox.session()
        let task =
            isDownload ? session.downloadTask(with: server.url("/big")) : session.dataTask(with: server.url("/big"))
        task.resume()
        await gate.reached()
        task.suspend()
        gate.open()
        let sent = try await server.settledBytesSent(of: 0) { _ = try await others.data(from: server.url("/other")) }
        #expect(sent < SocketRoom.bytes + (1 << 20))
        #expect(task.countOfBytesReceived <= 500_000 + (1 << 20))
        #expect(server.requests.first?.ending == nil)
        #expect(!check.isOver)
        task.resume()
        await check.completion()
        #expect(check.error == nil)
        #expect(task.countOfBytesReceived == Int64(content.size))
        #expect(isDownload ? check.fileIsRight == true : check.isRight && check.received == content.size)
        #expect(server.requests.first?.ending == .complete)
        #expect(sandbox.partialNames == [])
    }

    @Test("A task suspended while it waits for a connection yields its place")
    func waiting() async throws {
        let server = try LoopbackServer()
        server.route("/first", .generated(content).delayed(until: gate))
        server.fallback(.generated(content))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = ["/first", "/second", "/third"].map { session.dataTask(with: server.url($0)) }
        for task in tasks { task.resume() }
        await gate.reached()
        tasks[1].suspend()
        gate.open()
        await witness.completion(of: 2)
        #expect(server.requests.map(\.path) == ["/first", "/third"])
        #expect(tasks[1].state == .suspended)
        tasks[1].resume()
        await witness.completion(of: 3)
        #expect(server.requests.map(\.path) == ["/first", "/third", "/second"])
        #expect(server.acceptedConnections == 1)
        for task in tasks { #expect(witness.data(of: task) == content.data) }
    }

    @Test("A task suspended while it sends sends no more until it is resumed")
    func sending() async throws {
        let server = try LoopbackServer(maximumRecordedBody: 0)
        server.route("/upload", .text("thanks").takingBody(after: gate))
        server.route("/other", .generated(size: 3 << 20))
        let others = sandbox.session()
        var request = URLRequest(url: server.url("/upload"))
        request.httpMethod = "PUT"
        request.httpBody = Data(count: SocketRoom.overflowingSize)
        let task = sandbox.session(witness).dataTask(with: request).resumed()
        await gate.reached()
        task.suspend()
        _ = try await others.data(from: server.url("/other"))
        let sent = task.countOfBytesSent
        gate.open()
        await server.wait { Int64($0.requests.first?.bodyBytesReceived ?? 0) == sent }
        _ = try await others.data(from: server.url("/other"))
        #expect(task.countOfBytesSent == sent)
        #expect(sent < task.countOfBytesExpectedToSend)
        task.resume()
        await witness.completion()
        #expect(server.requests.first?.bodyBytesReceived == SocketRoom.overflowingSize)
        #expect(task.countOfBytesSent == Int64(SocketRoom.overflowingSize))
        #expect(witness.events.suffix(3) == [.response(200), .data(6), .completed(nil)])
    }

    @Test("A task can be suspended inside a call and resumed outside")
    func insideCall() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).chunked(size: 1_000))
        let (suspensions, toSuspensions) = AsyncStream<Void>.makeStream()
        let witness = Witness(hook: { task, event in
            switch event {
            case .response, .data:
                task.suspend()
                toSuspensions.yield()
            case .completed: toSuspensions.finish()
            default: break
            }
        })
        let task = sandbox.session(witness).dataTask(with: server.url("/file")).resumed()
        for await _ in suspensions { task.resume() }
        await witness.completion()
        #expect(witness.events == [.response(200), .data(400_000), .completed(nil)])
        #expect(witness.data(of: task) == content.data)
    }

    @Test("A suspended task can be cancelled")
    func cancelled() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 1_000))
        let task = sandbox.session(witness).downloadTask(with: server.url("/file")).resumed()
        await witness.wait { $0.contains(.wrote(1_000, of: 400_000)) }
        task.suspend()
        task.cancel()
        await witness.completion()
        await server.waitUntilDisconnected()
        #expect(witness.events == [.wrote(1_000, of: 400_000), .completed(.cancelled)])
        #expect(sandbox.partialNames == [])
    }

    @Test("A suspended task does not time out")
    func timeout() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let witness = Witness(hook: { task, event in if case .response = event { task.suspend() } })
        let clock = ManualClock()
        let session = sandbox.session(witness) { $0.clock = clock }
        let task = session.dataTask(with: URLRequest(url: server.url("/file"), timeoutInterval: 2)).resumed()
        await witness.wait { $0.contains(.response(200)) }
        try await clock.pass(3)
        #expect(task.state == .suspended)
        #expect(witness.events == [.response(200)])
        task.resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(400_000), .completed(nil)])
    }
}
