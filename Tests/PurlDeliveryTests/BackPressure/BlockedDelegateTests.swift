import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Back-pressure of a delegate that does not return", .timeLimit(.minutes(5)))
struct BlockedDelegateTests {
    private let sandbox = Sandbox()
    private let barrier = CallBarrier()
    private static let size = max(200_000_000, SocketRoom.overflowingSize)
    private static let limit = 1 << 20

    private func makeServer(_ content: GeneratedContent) throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/big", .generated(content))
        server.route("/chunked", .generated(content).chunked(size: 300_000))
        server.route("/other", .generated(size: 3 << 20))
        return server
    }

    @Test("A blocked delegate stops the server from sending", arguments: ["/big", "/chunked"])
    func serverStops(_ path: String) async throws {
        let content = GeneratedContent(size: Self.size, seed: 41)
        let server = try makeServer(content)
        let check = BodyCheck(content) { offset in if offset > 100_000 { barrier.pass() } }
        let others = sandbox.session()
        let task = sandbox.session(check).dataTask(with: server.url(path)).resumed()
        await barrier.reached()
        let sent = try await server.settledBytesSent(of: 0) { _ = try await others.data(from: server.url("/other")) }
        #expect(sent < check.received + Self.limit + SocketRoom.bytes)
        #expect(server.requests.first?.ending == nil)
        // Read so far: what the delegate has taken, what it is taking, and at most one read beyond the limit.
        #expect(task.countOfBytesReceived <= Int64(check.received + Self.limit + (256 << 10)))
        barrier.open()
        await check.completion()
        #expect(check.error == nil)
        #expect(check.received == Self.size)
        #expect(check.isRight)
        #expect(server.requests.first?.ending == .complete)
    }

    @Test(
        "A task holds no more undelivered bytes than the configuration allows",
        arguments: [1, 10_000, 300_000, 4 << 20])
    func configuredLimit(_ limit: Int) async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 42)
        let server = try makeServer(content)
        let check = BodyCheck(content) { _ in barrier.pass() }
        let session = sandbox.session(check) { $0.limits.bufferedBytesPerTask = limit }
        let others = sandbox.session()
        let task = session.dataTask(with: server.url("/big")).resumed()
        await barrier.reached()
        _ = try await server.settledBytesSent(of: 0) { _ = try await others.data(from: server.url("/other")) }
        #expect(task.countOfBytesReceived <= Int64(limit + (256 << 10)))
        #expect(task.countOfBytesReceived >= Int64(min(limit, 1 << 20)))
        barrier.open()
        await check.completion()
        #expect(check.received == content.size)
        #expect(check.isRight)
        #expect(check.longestCall <= limit + (256 << 10))
    }

    @Test("A blocked delegate does not delay another session")
    func otherSession() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 43)
        let server = try makeServer(content)
        let check = BodyCheck(content) { _ in barrier.pass() }
        let witness = Witness()
        let others = sandbox.session(witness)
        sandbox.session(check).dataTask(with: server.url("/big")).resume()
        await barrier.reached()
        for _ in 0..<5 {
            others.dataTask(with: server.url("/other")).resume()
            others.downloadTask(with: server.url("/other")).resume()
        }
        await witness.completion(of: 10)
        #expect(witness.events.count { $0 == .completed(nil) } == 10)
        #expect(!check.isOver)
        barrier.open()
        await check.completion()
        #expect(check.isRight && check.received == content.size)
    }

    /// Threads blocked in delegates are not taken from other sessions. The delegates wait until the small transfer is
    /// done, which would be never if it needed one of their threads.
    @Test("Many blocked delegates do not delay another session")
    func manyBlocked() async throws {
        let content = GeneratedContent(size: 1 << 20, seed: 47)
        let server = try makeServer(content)
        let checks = (0..<16).map { _ in BodyCheck(content) { _ in barrier.pass() } }
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
        barrier.open()
        for check in checks {
            await check.completion()
            #expect(check.isRight && check.received == content.size)
        }
    }

    @Test("A delegate that is blocked in didWriteData does not stop its download's file from being written")
    func download() async throws {
        let content = GeneratedContent(size: 20_000_000, seed: 44)
        let server = try makeServer(content)
        let witness = Witness(hook: { _, event in if case .wrote = event { barrier.pass() } })
        let task = sandbox.session(witness).downloadTask(with: server.url("/big")).resumed()
        await barrier.reached()
        await server.wait { $0.requests.first?.ending == .complete }
        barrier.open()
        await witness.completion()
        #expect(witness.events == [.wrote(20_000_000, of: 20_000_000), .file(20_000_000), .completed(nil)])
        #expect(content.matches(try #require(witness.file(of: task))))
        #expect(sandbox.partialNames == [])
    }

    @Test("A task whose delegate is blocked can be cancelled")
    func cancelled() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 45)
        let server = try makeServer(content)
        let check = BodyCheck(content) { _ in barrier.pass() }
        let task = sandbox.session(check).dataTask(with: server.url("/big")).resumed()
        await barrier.reached()
        task.cancel()
        // The connection is closed at once; the completion has to wait for the call that is being made.
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
        #expect(!check.isOver)
        barrier.open()
        await check.completion()
        #expect(check.error?.code == .cancelled)
        #expect(check.isRight)
    }

    @Test("The request time-out does not elapse while the delegate is blocked")
    func timeout() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize, seed: 46)
        let server = try makeServer(content)
        let check = BodyCheck(content) { _ in barrier.pass() }
        let clock = ManualClock()
        let session = sandbox.session(check) { $0.clock = clock }
        let task = session.dataTask(with: URLRequest(url: server.url("/big"), timeoutInterval: 2)).resumed()
        await barrier.reached()
        // Until then it reads on, which is progress.
        await NetworkThread.settle { task.countOfBytesReceived >= Int64(Self.limit) }
        try await clock.pass(3)
        #expect(!check.isOver)
        barrier.open()
        await check.completion()
        #expect(check.error == nil)
        #expect(check.isRight && check.received == content.size)
    }
}

@Suite("Memory of transfers to slow delegates", .timeLimit(.minutes(5)))
struct SlowDelegateTests {
    @Test("A slow delegate receives a quarter of a gibibyte within a bounded memory")
    func large() async {
        await #expect(processExitsWith: .success) {
            let content = GeneratedContent(size: 1 << 28, seed: 51)
            let server = try LoopbackServer()
            server.route("/big", .generated(content))
            server.route("/small", .generated(size: 100_000))
            let sandbox = Sandbox()
            // The first transfer allocates what is needed once.
            _ = try await sandbox.session().data(from: server.url("/small"))
            let before = ProcessMemory.peak
            let check = BodyCheck(content) { _ in Self.work() }
            let session = sandbox.session(check)
            session.dataTask(with: server.url("/big")).resume()
            await check.completion()
            #expect(check.error == nil)
            #expect(check.received == 1 << 28)
            #expect(check.isRight)
            #expect(ProcessMemory.peak - before < 64 << 20)
        }
    }

    @Test("Many slow tasks need no more memory than their limits together")
    func manyTasks() async {
        await #expect(processExitsWith: .success) {
            let content = GeneratedContent(size: 16 << 20, seed: 52)
            let server = try LoopbackServer()
            server.route("/big", .generated(content))
            let sandbox = Sandbox()
            _ = try await sandbox.session().data(from: server.url("/nothing"))
            let before = ProcessMemory.peak
            let checks = (0..<20).map { _ in BodyCheck(content) { _ in Self.work() } }
            for check in checks {
                sandbox.session(check) { $0.limits.bufferedBytesPerTask = 1 << 18 }
                    .dataTask(with: server.url("/big")).resume()
            }
            for check in checks {
                await check.completion()
                #expect(check.isRight && check.received == 16 << 20)
            }
            #expect(ProcessMemory.peak - before < 64 << 20)
        }
    }

    /// A delegate's work in one call: a busy millisecond.
    private static func work() {
        let end = ContinuousClock.now + .milliseconds(1)
        while ContinuousClock.now < end {}
    }
}
