import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("limits.bytesSentPerSecond", .timeLimit(.minutes(5)))
struct SendLimitTests {
    private let content = GeneratedContent(size: 100_000, seed: 72)
    private let rate = RateLimitedSession.rate

    @Test(
        "A session sends no more than its limit in any form, and sends the whole body",
        arguments: [UploadForm.body, .data, .file, .streamed])
    func amounts(form: UploadForm) async throws {
        let server = try LoopbackServer()
        server.route("/file", .text("thanks"))
        let upload = try Upload(form, content)
        let rated = try RateLimitedSession(upload.witness, sends: rate)
        let task = try #require(upload.makeTask(Upload.request(server.url("/file")), in: rated.session)).resumed()
        await rated.run { allowed in
            #expect(task.countOfBytesSent <= allowed)
            #expect(server.requests.reduce(0) { $0 + $1.bodyBytesReceived } <= allowed)
        }
        #expect(server.requests.map(\.body) == [content.data])
        #expect(rated.witness.data(of: task) == Data("thanks".utf8))
        #expect(await rated.clock.allowed(at: rate) >= content.size)
    }

    @Test("Two uploads send equal shares, and together the limit")
    func fairness() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("thanks"))
        let rated = try RateLimitedSession(sends: rate)
        let tasks = (0..<2).map {
            rated.session.uploadTask(with: Upload.request(server.url("/\($0)")), from: Data(count: 1_000_000))
        }
        for task in tasks { task.resume() }
        while tasks.contains(where: { $0.countOfBytesSent == 0 }), !Task.isCancelled {
            await rated.clock.advance(milliseconds: 1)
        }
        let before = tasks.map(\.countOfBytesSent)
        await rated.clock.advance(milliseconds: 1_000)
        let counts = zip(tasks, before).map { $0.countOfBytesSent - $1 }
        #expect(abs(counts[0] - counts[1]) <= 1_000)
        #expect(counts[0] + counts[1] >= 62_000)
        #expect(tasks[0].countOfBytesSent + tasks[1].countOfBytesSent <= Int64(await rated.clock.allowed(at: rate)))
    }

    @Test("An upload that waits for the limit does not time out")
    func timeout() async throws {
        let server = try LoopbackServer()
        server.route("/file", .text("thanks"))
        let clock = ManualClock()
        let rated = try RateLimitedSession(sends: rate) {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 4
        }
        let task = rated.session.uploadTask(with: Upload.request(server.url("/file")), from: content.data).resumed()
        await rated.witness.wait { !$0.isEmpty }
        for _ in 0..<4 { try await clock.pass(3) }
        #expect(task.state == .running)
        await rated.run()
        #expect(server.requests.first { $0.path == "/file" }?.body == content.data)
    }

    @Test("limits.bytesSentPerSecond does not limit receiving")
    func receivingIsFree() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content).beforeBody())
        let rated = try RateLimitedSession(sends: rate)
        let task = rated.session.uploadTask(with: Upload.request(server.url("/file")), from: content.data).resumed()
        await rated.witness.wait { $0.contains(.data(100_000)) }
        #expect(await rated.clock.now.nanoseconds == 0)
        #expect(rated.witness.data(of: task) == content.data)
    }

    @Test("A response that refuses the body ends the wait")
    func refusal() async throws {
        let server = try LoopbackServer()
        server.route("/file", .status(413).beforeBody())
        let rated = try RateLimitedSession(sends: rate)
        rated.session.uploadTask(with: Upload.request(server.url("/file")), from: content.data).resume()
        await rated.witness.completion()
        #expect(rated.witness.events.contains(.response(413)))
        await rated.clock.advance(milliseconds: 1_000)
        rated.session.dataTask(with: server.url("/other")).resume()
        await rated.run(until: 2)
    }
}
