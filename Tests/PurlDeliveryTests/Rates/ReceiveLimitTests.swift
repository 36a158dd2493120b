import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("limits.bytesReceivedPerSecond", .timeLimit(.minutes(5)))
struct ReceiveLimitTests {
    private let content = GeneratedContent(size: 100_000, seed: 71)
    private let rate = RateLimitedSession.rate

    enum Form: CaseIterable {
        case data, download, chunked
    }

    @Test("A session receives no more than its limit in any form, and receives all content", arguments: Form.allCases)
    func amounts(form: Form) async throws {
        let server = try LoopbackServer()
        let reply = Reply.generated(content)
        server.route("/file", form == .chunked ? reply.chunked(size: 3_000) : reply)
        let rated = try RateLimitedSession(receives: rate)
        let url = server.url("/file")
        let task = form == .download ? rated.session.downloadTask(with: url) : rated.session.dataTask(with: url)
        task.resume()
        await rated.run { allowed in #expect(task.countOfBytesReceived <= allowed) }
        let bytes = form == .download ? rated.witness.file(of: task) : rated.witness.data(of: task)
        #expect(bytes == content.data)
        #expect(rated.witness.events.last == .completed(nil))
        // All bytes on the wire count, the head included.
        #expect(await rated.clock.allowed(at: rate) >= content.size)
    }

    @Test("Concurrent tasks receive equal shares, whatever their order", arguments: [true, false])
    func fairness(downloads: Bool) async throws {
        let server = try LoopbackServer()
        // None of them may end before all have begun: the clock advances while a delegate's call or a file lets one of them wait.
        // In chunks: content that the system moves into a file waits for the file's thread before it has its turn again.
        server.fallback(.generated(size: 20_000_000).chunked())
        let rated = try RateLimitedSession(receives: rate)
        let tasks = (0..<4).map { number in
            let url = server.url("/\(number)")
            return downloads ? rated.session.downloadTask(with: url) : rated.session.dataTask(with: url)
        }
        for task in tasks { task.resume() }
        // The shares are equal only once all tasks have begun.
        while tasks.contains(where: { $0.countOfBytesReceived == 0 }), !Task.isCancelled {
            await rated.clock.advance(milliseconds: 1)
        }
        let before = tasks.map(\.countOfBytesReceived)
        let sum = before.reduce(0, +)
        // The server's bytes may still be on their way at a task's turn: only its last turn is compared.
        for step in 1...50 {
            await rated.clock.advance(milliseconds: 16)
            await NetworkThread.settle {
                tasks.reduce(0, { $0 + $1.countOfBytesReceived }) >= sum + Int64(step - 1) * 1_000
            }
        }
        let counts = zip(tasks, before).map { $0.countOfBytesReceived - $1 }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 5_000)
        #expect((48_000...56_000).contains(counts.reduce(0, +)))
    }

    @Test("A task that waits for the limit does not time out")
    func timeout() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let clock = ManualClock()
        let rated = try RateLimitedSession(receives: rate) {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 4
        }
        let task = rated.session.dataTask(with: url).resumed()
        await rated.witness.wait { !$0.isEmpty }
        for _ in 0..<4 { try await clock.pass(3) }
        #expect(task.state == .running)
        #expect(task.countOfBytesReceived <= rate / 16)
        await rated.run()
        #expect(rated.witness.data(of: task) == content.data)
    }

    @Test("A silent server times out, with a limit, too")
    func silence() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).stalled(afterBytes: 1_000))
        let rated = try RateLimitedSession(receives: rate) { $0.timeoutIntervalForRequest = 0.2 }
        rated.session.dataTask(with: url).resume()
        await rated.run()
        #expect(rated.witness.events.last == .completed(.timedOut))
    }

    @Test("A suspended task receives nothing until it is resumed, and does not delay others")
    func suspended() async throws {
        let server = try LoopbackServer()
        server.fallback(.generated(content))
        let rated = try RateLimitedSession(receives: rate)
        let tasks = (0..<2).map { rated.session.dataTask(with: server.url("/\($0)")) }
        tasks[0].resume()
        await rated.witness.wait { !$0.isEmpty }
        tasks[0].suspend()
        tasks[1].resume()
        await rated.run()
        #expect(tasks[1].state == .completed)
        #expect(tasks[0].countOfBytesReceived <= rate / 16)
        tasks[0].resume()
        await rated.run(until: 2)
        #expect(tasks.map { rated.witness.data(of: $0) } == [content.data, content.data])
    }

    @Test("A waiting task that is cancelled ends at once, and does not delay others")
    func cancelled() async throws {
        let server = try LoopbackServer()
        server.fallback(.generated(content))
        let rated = try RateLimitedSession(receives: rate)
        let tasks = (0..<3).map { rated.session.dataTask(with: server.url("/\($0)")) }
        tasks[0].resume()
        await rated.witness.wait { !$0.isEmpty }
        tasks[1].resume()
        tasks[0].cancel()
        await rated.witness.completion()
        #expect(rated.witness.error(of: tasks[0])?.code == .cancelled)
        tasks[2].resume()
        await rated.run(until: 3)
        #expect(rated.witness.data(of: tasks[1]) == content.data)
        #expect(rated.witness.data(of: tasks[2]) == content.data)
    }

    @Test("A download that is paused and resumed under a limit has the whole file")
    func resumed() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\""))
        let rated = try RateLimitedSession(receives: rate)
        let task = rated.session.downloadTask(with: server.url("/file")).resumed()
        while task.countOfBytesReceived < 20_000, !Task.isCancelled {
            await rated.clock.advance(milliseconds: 10)
        }
        let blob = try #require(await task.cancelByProducingResumeData())
        let next = rated.session.downloadTask(withResumeData: blob).resumed()
        await rated.run(until: 2)
        #expect(rated.witness.file(of: next) == content.data)
        #expect(server.requests.count == 2)
    }

    @Test("The next exchange on a connection keeps to the limit as well")
    func reuse() async throws {
        let server = try LoopbackServer()
        server.fallback(.generated(size: 10_000))
        let rated = try RateLimitedSession(receives: rate) { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = (0..<10).map { rated.session.dataTask(with: server.url("/\($0)")) }
        for task in tasks { task.resume() }
        await rated.run(until: 10) { allowed in
            #expect(tasks.reduce(0) { $0 + $1.countOfBytesReceived } <= allowed)
        }
        #expect(server.acceptedConnections == 1)
        #expect(tasks.allSatisfy { $0.countOfBytesReceived == 10_000 })
    }

    @Test("limits.bytesReceivedPerSecond does not limit sending")
    func sendingIsFree() async throws {
        let server = try LoopbackServer()
        server.route("/file", .text("hello"))
        let rated = try RateLimitedSession(receives: 64)
        rated.session.uploadTask(with: Upload.request(server.url("/file")), from: content.data).resume()
        await rated.witness.wait { $0.contains(.sent(100_000, of: 100_000)) }
        #expect(await rated.clock.now.nanoseconds == 0)
    }
}
