import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@Suite("The flow control of WebSockets", .timeLimit(.minutes(5)))
struct WebSocketFlowTests {
    /// More bytes than the buffers of both sides hold.
    private static let overflow = SocketRoom.bytes + (8 << 20)

    /// A server's script that sends more than any buffer holds, and reaches the gate at its end.
    private func flood(_ gate: ServerGate) -> (script: WebSocketScript, count: Int) {
        let count = Self.overflow / (256 << 10)
        var script = WebSocketScript.listening
        for number in 0..<count { script = script.data(Data(repeating: UInt8(number & 0xFF), count: 256 << 10)) }
        return (script.wait(at: gate).text("end"), count)
    }

    @Test("A client that receives nothing stops the server from sending")
    func slowReceiver() async throws {
        let gate = ServerGate()
        let (script, count) = flood(gate)
        let stage = try await WebSocketStage(script)
        let task = try stage.open()
        task.maximumMessageSize = 1 << 20
        await stage.witness.opening()
        stage.server.route("/other", .generated(size: 2 << 20))
        for _ in 0..<5 { _ = try await stage.session.data(from: stage.server.url("/other")) }
        // The server has not reached the end of its messages.
        #expect(gate.arrivals == 0)
        #expect(task.countOfBytesReceived <= 2 << 20)
        gate.open()
        for number in 0..<count {
            let data = try await task.receive().data
            #expect(data?.count == 256 << 10 && data?.first == UInt8(number & 0xFF))
        }
        #expect(try await task.receive().text == "end")
    }

    @Test("A suspended WebSocket task reads and writes nothing")
    func suspended() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        try await task.sendPing()
        task.suspend()
        let log = EventLog<Bool>()
        task.send(.string("later")) { log.append($0 == nil) }
        // Anything the task sent would be sent before this ends.
        stage.server.route("/other", .generated(size: 2 << 20))
        for _ in 0..<3 { _ = try await stage.session.data(from: stage.server.url("/other")) }
        #expect(log.events.isEmpty)
        #expect(stage.server.webSockets.first?.messageCount == 0)
        task.resume()
        #expect(try await task.receive().text == "later")
    }

    @Test("Sends wait for a server that does not read, and arrive in order")
    func slowServer() async throws {
        let gate = ServerGate()
        let stage = try await WebSocketStage(.listening.notReading(until: gate))
        let task = try stage.open()
        await stage.witness.opening()
        let piece = 1 << 20
        let count = Self.overflow / piece
        let log = EventLog<Int>()
        for number in 0..<count {
            task.send(.data(Data(repeating: UInt8(number & 0xFF), count: piece))) { _ in log.append(number) }
        }
        await gate.reached()
        stage.server.route("/other", .generated(size: 2 << 20))
        for _ in 0..<5 { _ = try await stage.session.data(from: stage.server.url("/other")) }
        #expect(log.events.count < count)
        gate.open()
        await log.wait { $0.count == count }
        #expect(log.events == Array(0..<count))
        let seen = await stage.server.waitForWebSocket { $0.messageCount == count }
        #expect(seen?.byteCount == count * piece)
    }

    @Test("Messages that are not received need a bounded memory")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer(recordsRequests: false)
            server.route("/ws", .webSocket())
            let sandbox = Sandbox()
            let session = sandbox.session()
            let url = try server.webSocketURL("/ws")
            let task = session.webSocketTask(with: url).resumed()
            let message = Data(count: 64 << 10)
            let warmth = Data(count: 1 << 20)
            // The first messages allocate what is needed once.
            for _ in 0..<4 {
                try await task.send(.data(warmth))
                _ = try await task.receive()
            }
            let before = ProcessMemory.now
            // Messages that are not received, until the server can send no more and stops reading.
            let log = EventLog<Bool>()
            let room = SocketRoom.bytes * 2 / message.count + 200
            for _ in 0..<room { task.send(.data(message)) { log.append($0 == nil) } }
            session.webSocketTask(with: url).resume()
            var settled = -1
            while settled != log.events.count {
                settled = log.events.count
                let other = session.webSocketTask(with: url).resumed()
                for _ in 0..<50 {
                    try await other.send(.data(message))
                    _ = try await other.receive()
                }
                other.cancel(with: .normalClosure, reason: nil)
            }
            #expect(ProcessMemory.now - before < 32 << 20)
            // All messages can still be received.
            for _ in 0..<room { _ = try await task.receive() }
            #expect(log.events.count == room)
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
