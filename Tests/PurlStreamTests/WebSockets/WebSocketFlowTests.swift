import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The flow control of WebSockets", .timeLimit(.minutes(5)))
struct WebSocketFlowTests {
    /// More bytes than the simulated network holds of one connection.
    private static let overflow = 2 << 20

    /// In a simulation, where the buffers are small and waiting takes no time.
    private static func converse(
        _ script: WebSocketScript, _ body: @escaping @Sendable (World, WebSocketStage) async throws -> Void
    ) throws {
        try Simulation(1).run { world in
            let stage = try await WebSocketStage(script, in: world)
            try await body(world, stage)
            stage.session.invalidateAndCancel()
        }
    }

    @Test("A client that receives nothing stops the server from sending")
    func slowReceiver() throws {
        let gate = ServerGate()
        let count = Self.overflow / (64 << 10)
        var script = WebSocketScript.listening
        for number in 0..<count { script = script.data(Data(repeating: UInt8(number), count: 64 << 10)) }
        try Self.converse(script.wait(at: gate).text("end")) { world, stage in
            let task = try stage.open()
            await stage.witness.opening()
            try await world.sleep(for: .seconds(60))
            // The server has not reached the end of its messages.
            #expect(gate.arrivals == 0)
            #expect(task.countOfBytesReceived <= 1 << 20)
            gate.open()
            for number in 0..<count {
                let data = try await task.receive().data
                #expect(data?.count == 64 << 10 && data?.first == UInt8(number))
            }
            #expect(try await task.receive().text == "end")
        }
    }

    @Test("A suspended WebSocket task reads and writes nothing")
    func suspended() throws {
        try Self.converse(.echo) { world, stage in
            let task = try stage.open()
            try await task.sendPing()
            task.suspend()
            let log = EventLog<Bool>()
            task.send(.string("later")) { log.append($0 == nil) }
            try await world.sleep(for: .seconds(10))
            #expect(log.events.isEmpty)
            #expect(stage.server.webSockets.first?.messageCount == 0)
            task.resume()
            #expect(try await task.receive().text == "later")
        }
    }

    @Test("Sends wait for a server that does not read, and arrive in order")
    func slowServer() throws {
        let gate = ServerGate()
        try Self.converse(.listening.notReading(until: gate)) { world, stage in
            let task = try stage.open()
            await stage.witness.opening()
            let piece = 64 << 10
            let count = Self.overflow / piece
            let log = EventLog<Int>()
            for number in 0..<count {
                task.send(.data(Data(repeating: UInt8(number), count: piece))) { _ in log.append(number) }
            }
            await gate.reached()
            try await world.sleep(for: .seconds(10))
            #expect(log.events.count < count / 2)
            gate.open()
            await log.wait { $0.count == count }
            #expect(log.events == Array(0..<count))
            let seen = await stage.server.waitForWebSocket { $0.messageCount == count }
            #expect(seen?.byteCount == count * piece)
        }
    }

    @Test("Messages that are not received need a bounded memory: they stop the server, and with it the sender")
    func memory() throws {
        try Self.converse(.echo) { world, stage in
            let task = try stage.open()
            let message = Data(count: 64 << 10)
            let count = 4 * Self.overflow / message.count
            let log = EventLog<Bool>()
            for _ in 0..<count { task.send(.data(message)) { log.append($0 == nil) } }
            try await world.sleep(for: .seconds(60))
            #expect(log.events.count < count / 2)
            #expect(task.countOfBytesReceived <= 1 << 20)
            for _ in 0..<count { #expect(try await task.receive().data == message) }
            await log.wait { $0.count == count }
            #expect(!log.events.contains(false))
        }
    }

    @Test("The session's rate limits apply to WebSockets", arguments: [true, false])
    func limits(receiving: Bool) throws {
        try Simulation(1).run { world in
            let url = world.server("echo.example").route("/echo", .webSocket(.echo))
            let configuration = URLSessionConfiguration.ephemeral
            if receiving {
                configuration.limits.bytesReceivedPerSecond = 400_000
            } else {
                configuration.limits.bytesSentPerSecond = 400_000
            }
            let session = URLSession(configuration: configuration)
            let task = session.webSocketTask(with: url)
            task.resume()
            try await task.send(.string("opened"))
            _ = try await task.receive()
            let start = world.elapsed
            let message = GeneratedContent(size: 300_000).data
            try await task.send(.data(message))
            #expect(try await task.receive().data == message)
            // All bytes beyond the full bucket take this time at least, and on this network little more.
            #expect((.seconds(0.6)...Duration.seconds(1.2)).contains(world.elapsed - start))
            session.invalidateAndCancel()
        }
    }

    @Test("receive() in a Swift task that is already cancelled throws at once")
    func cancelledBefore() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        let waiting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await task.receive()
        }
        await #expect(errorCode { _ = try await waiting.value } == .cancelled)
        try await task.send(.string("next"))
        #expect(try await task.receive().text == "next")
    }
}
