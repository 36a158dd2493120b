import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The flow control of stream tasks", .timeLimit(.minutes(5)))
struct StreamFlowTests {
    @Test("A client that reads nothing stops the server from sending")
    func slowReader() async throws {
        let gate = ServerGate()
        let content = GeneratedContent(size: SocketRoom.overflowingSize)
        let stage = try await StreamStage(.listening.send(content).wait(at: gate).finish()) {
            $0.limits.bufferedBytesPerTask = 1 << 20
        }
        let task = stage.open()
        #expect(content.matches(try #require(try await task.readData(ofMinLength: 10, maxLength: 10, timeout: 0).0)))
        // A read may ask for more than the buffer's limit; the buffer does not exceed it.
        let large = try #require(try await task.readData(ofMinLength: 8 << 20, maxLength: 8 << 20, timeout: 0).0)
        #expect(content.matches(large, at: 10))
        #expect(task.countOfBytesReceived <= 10 + 10 << 20)
        #expect(gate.arrivals == 0)
        gate.open()
        let rest = try await task.rest()
        #expect(content.matches(rest, at: 10 + 8 << 20))
        #expect(rest.count == content.size - 10 - 8 << 20)
    }

    @Test("A suspended stream task reads and writes nothing")
    func suspended() async throws {
        let gate = ServerGate()
        let stage = try await StreamStage(.listening.receive(1).wait(at: gate).send("abc"))
        let task = stage.open()
        try await task.write("x")
        await gate.reached()
        task.suspend()
        await NetworkThread.settle()
        gate.open()
        let witness = stage.witness
        task.write(Data("later".utf8), timeout: 0) { witness.append("wrote \($0 == nil)") }
        // Anything the task did would happen before this ends.
        for _ in 0..<50 { await NetworkThread.settle() }
        #expect(task.countOfBytesReceived == 0)
        #expect(task.countOfBytesSent == 1)
        #expect(witness.events.isEmpty)
        task.resume()
        #expect(try await task.text(3) == "abc")
        #expect(await stage.stream { $0.byteCount == 6 }?.text == "xlater")
    }

    @Test("Writes wait for a server that does not read, and arrive in order")
    func slowServer() async throws {
        let deaf = ServerGate()
        let stage = try await StreamStage(.listening.notReading(until: deaf))
        let task = stage.open()
        let witness = stage.witness
        let portion = SocketRoom.overflowingSize / 4
        for number in 0..<4 {
            let content = Data(repeating: UInt8(number), count: portion)
            task.write(content, timeout: 0) { witness.append("\(number) \($0 == nil)") }
        }
        await deaf.reached()
        #expect(!witness.events.contains(.handler("3 true")))
        deaf.open()
        await witness.wait(for: .handler("3 true"))
        #expect(witness.events == (0..<4).map { .handler("\($0) true") })
        let stream = await stage.stream { $0.byteCount == 4 * portion }
        let expected = (0..<4).reduce(into: Data()) { $0 += Data(repeating: UInt8($1), count: portion) }
        // The server keeps no more than this.
        #expect(stream?.bytes == expected.prefix(64 << 20))
    }

    /// Opens a stream in a simulation, where the seconds take no time, to a server that follows a script after a request's head.
    private static func converse(
        _ script: StreamScript, _ configure: @escaping @Sendable (URLSessionConfiguration) -> Void,
        _ body: @escaping @Sendable (World, Server, URLSessionStreamTask) async throws -> Void
    ) throws {
        try Simulation(1).run { world in
            let server = world.server("echo.example")
            server.route("/raw", .stream(script, after: ""))
            let configuration = URLSessionConfiguration.ephemeral
            configure(configuration)
            let session = URLSession(configuration: configuration)
            let task = session.streamTask(withHostName: "echo.example", port: 80)
            task.resume()
            let head = "GET /raw HTTP/1.1\r\nHost: echo.example\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n"
            try await task.write(Data(head.utf8), timeout: 0)
            try await body(world, server, task)
            session.invalidateAndCancel()
        }
    }

    @Test("limits.bytesReceivedPerSecond limits streams")
    func receiveLimit() throws {
        try Self.converse(.listening.send(GeneratedContent(size: 300_000)).finish()) {
            $0.limits.bytesReceivedPerSecond = 400_000
        } _: { world, _, task in
            let start = world.elapsed
            task.closeWrite()
            let received = try await task.rest()
            #expect(received.count == 300_000)
            // All bytes beyond the full bucket take this time at least, and on this network little more.
            #expect((.seconds(0.6)...Duration.seconds(1.2)).contains(world.elapsed - start))
        }
    }

    @Test("limits.bytesSentPerSecond limits streams")
    func sendLimit() throws {
        try Self.converse(.listening) {
            $0.limits.bytesSentPerSecond = 400_000
        } _: { world, server, task in
            let start = world.elapsed
            try await task.write(Data(count: 300_000), timeout: 0)
            #expect((.seconds(0.6)...Duration.seconds(1.2)).contains(world.elapsed - start))
            task.closeWrite()
            await server.wait { $0.streams.first?.hasEnded == true }
            #expect(server.record.streams.first?.byteCount == 300_000)
        }
    }

    @Test("A stream task has the metrics of a network load")
    func metrics() async throws {
        let stage = try await StreamStage()
        let task = stage.open()
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        task.closeWrite()
        await stage.witness.completion()
        let record = try #require(stage.witness.metrics.last?.transactionMetrics.first)
        #expect(record.resourceFetchType == .networkLoad)
        #expect(record.request.url?.absoluteString == "tcp://127.0.0.1:\(stage.server.port)")
        #expect(record.response == nil)
        #expect(record.connectEndDate != nil)
        #expect(record.remotePort == "\(stage.server.port)")
        #expect(record.countOfRequestBodyBytesSent == 5)
        #expect(record.countOfResponseBodyBytesReceived == 5)
        #expect(record.responseStartDate != nil && record.responseEndDate != nil)
    }
}
