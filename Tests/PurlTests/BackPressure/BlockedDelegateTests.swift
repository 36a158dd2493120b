import Foundation
import Purl
import PurlTesting
import Testing

/// What a consumer has not taken is not read: the server waits, memory does not grow, nobody else is held up.
@Suite(.timeLimit(.minutes(5))) struct BlockedDelegateTests {
    private static let size = max(200_000_000, SocketRoom.overflowingSize)
    private static let limit = 1 << 20

    private func makeServer(_ content: GeneratedContent) throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/big", .generated(content))
        server.route("/chunked", .generated(content).chunked(size: 300_000))
        server.route("/other", .generated(size: 3 << 20))
        return server
    }

    @Test(arguments: ["/big", "/chunked"])
    func aBlockedDelegateStopsTheServer(_ path: String) async throws {
        let content = GeneratedContent(size: Self.size, seed: 41)
        let server = try makeServer(content)
        let sandbox = try Sandbox()
        let stop = Stop()
        let check = BodyCheck(content) { offset in if offset > 100_000 { stop.pass() } }
        let session = sandbox.session(check)
        let others = sandbox.session()
        defer {
            session.invalidateAndCancel()
            others.invalidateAndCancel()
        }
        let task = session.dataTask(with: server.url(path))
        task.resume()
        await stop.reached()
        let sent = try await server.settledBytesSent(of: 0) { _ = try await others.data(from: server.url("/other")) }
        #expect(sent < check.received + Self.limit + SocketRoom.bytes)
        #expect(server.requests.first?.ending == nil)
        // What was read is what the delegate has, what is in its hands and at most one read more than the limit.
        #expect(task.countOfBytesReceived <= Int64(check.received + Self.limit + (256 << 10)))
        stop.open()
        await check.completion()
        #expect(check.error == nil)
        #expect(check.received == Self.size)
        #expect(check.isRight)
        #expect(server.requests.first?.ending == .complete)
    }

    /// What is in the delegate's hands counts until it returns.
    @Test(arguments: [1, 10_000, 300_000, 4 << 20])
    func theLimitIsTheConfigurations(_ limit: Int) async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 42)
        let server = try makeServer(content)
        let sandbox = try Sandbox()
        let stop = Stop()
        let check = BodyCheck(content) { _ in stop.pass() }
        let session = sandbox.session(check) { $0.maximumBufferedBytesPerTask = limit }
        let others = sandbox.session()
        defer {
            session.invalidateAndCancel()
            others.invalidateAndCancel()
        }
        let task = session.dataTask(with: server.url("/big"))
        task.resume()
        await stop.reached()
        _ = try await server.settledBytesSent(of: 0) { _ = try await others.data(from: server.url("/other")) }
        #expect(task.countOfBytesReceived <= Int64(limit + (256 << 10)))
        #expect(task.countOfBytesReceived >= Int64(min(limit, 1 << 20)))
        stop.open()
        await check.completion()
        #expect(check.received == content.size)
        #expect(check.isRight)
        #expect(check.longestCall <= limit + (256 << 10))
    }

    @Test func aBlockedDelegateHoldsUpNoOtherSession() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 43)
        let server = try makeServer(content)
        let sandbox = try Sandbox()
        let stop = Stop()
        let check = BodyCheck(content) { _ in stop.pass() }
        let blocked = sandbox.session(check)
        let witness = Witness()
        let others = sandbox.session(witness)
        defer {
            blocked.invalidateAndCancel()
            others.invalidateAndCancel()
        }
        blocked.dataTask(with: server.url("/big")).resume()
        await stop.reached()
        for _ in 0..<5 {
            others.dataTask(with: server.url("/other")).resume()
            others.downloadTask(with: server.url("/other")).resume()
        }
        await witness.completion(of: 10)
        #expect(witness.events.count { $0 == .completed(nil) } == 10)
        #expect(!check.isOver)
        stop.open()
        await check.completion()
        #expect(check.isRight && check.received == content.size)
    }

    /// Threads that wait in delegates are not taken from those who work. The delegates wait until the small transfer is
    /// done, which would be never if it needed one of their threads.
    @Test func manyBlockedDelegatesHoldUpNoOtherSession() async throws {
        let content = GeneratedContent(size: 1 << 20, seed: 47)
        let server = try makeServer(content)
        let sandbox = try Sandbox()
        let stop = Stop()
        let checks = (0..<16).map { _ in BodyCheck(content) { _ in stop.pass() } }
        let blocked = checks.map { sandbox.session($0) }
        for session in blocked { session.dataTask(with: server.url("/big")).resume() }
        await server.wait { $0.requests.count { $0.bytesSent > 0 } == 16 }
        let other = sandbox.session()
        defer { for session in blocked + [other] { session.invalidateAndCancel() } }
        let ends = EventLog<Int?>()
        other.dataTask(with: server.url("/other")) { data, _, _ in ends.append(data?.count) }.resume()
        await ends.wait { !$0.isEmpty }
        #expect(ends.events == [3 << 20])
        #expect(checks.allSatisfy { !$0.isOver })
        stop.open()
        for check in checks {
            await check.completion()
            #expect(check.isRight && check.received == content.size)
        }
    }

    /// A delegate that is busy with progress does not keep the file from being written.
    @Test func aBlockedDelegateDoesNotHoldUpItsDownloads() async throws {
        let content = GeneratedContent(size: 20_000_000, seed: 44)
        let server = try makeServer(content)
        let sandbox = try Sandbox()
        let stop = Stop()
        let witness = Witness(hook: { _, event in if case .wrote = event { stop.pass() } })
        let session = sandbox.session(witness)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: server.url("/big"))
        task.resume()
        await stop.reached()
        await server.wait { $0.requests.first?.ending == .complete }
        stop.open()
        await witness.completion()
        #expect(witness.events == [.wrote(20_000_000, of: 20_000_000), .file(20_000_000), .completed(nil)])
        #expect(content.matches(try #require(witness.file(of: task))))
        #expect(sandbox.partialNames == [])
    }

    @Test func aBlockedTaskCanBeCancelled() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 45)
        let server = try makeServer(content)
        let sandbox = try Sandbox()
        let stop = Stop()
        let check = BodyCheck(content) { _ in stop.pass() }
        let session = sandbox.session(check)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/big"))
        task.resume()
        await stop.reached()
        task.cancel()
        // The connection goes at once; the completion has to wait for the call that is being made.
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
        #expect(!check.isOver)
        stop.open()
        await check.completion()
        #expect(check.error?.code == .cancelled)
        #expect(check.isRight)
    }

    @Test func aBlockedDelegatesTimeOutStandsStill() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 46)
        let server = try makeServer(content)
        server.route("/clock", .status(200).delayed(until: Gate()))
        let sandbox = try Sandbox()
        let stop = Stop()
        let check = BodyCheck(content) { _ in stop.pass() }
        let session = sandbox.session(check)
        let others = sandbox.session()
        defer {
            session.invalidateAndCancel()
            others.invalidateAndCancel()
        }
        var request = URLRequest(url: server.url("/big"))
        request.timeoutInterval = 2
        session.dataTask(with: request).resume()
        await stop.reached()
        var clock = URLRequest(url: server.url("/clock"))
        clock.timeoutInterval = 3
        await #expect(throws: URLError.self) { try await others.data(for: clock) }
        #expect(!check.isOver)
        stop.open()
        await check.completion()
        #expect(check.error == nil)
        #expect(check.isRight && check.received == content.size)
    }
}
