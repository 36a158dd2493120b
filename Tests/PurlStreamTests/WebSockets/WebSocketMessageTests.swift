import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Messages and pings of WebSockets", .timeLimit(.minutes(5)))
struct WebSocketMessageTests {
    @Test("A WebSocket opens, exchanges messages, and closes")
    func story() async throws {
        let stage = try await WebSocketStage(.echo.subprotocols(["chat"]))
        let task = try stage.open(protocols: ["news", "chat"])
        try await task.send(.string("Grüße"))
        try await task.send(.data(Data([0, 1, 255])))
        #expect(try await task.receive().text == "Grüße")
        #expect(try await task.receive().data == Data([0, 1, 255]))
        #expect(task.state == .running)
        #expect(task.closeCode == .invalid)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
        task.cancel(with: .normalClosure, reason: Data("bye".utf8))
        await stage.witness.completion()
        #expect(
            stage.witness.events == [.opened("chat"), .closed(1000, "bye"), .metrics(transactions: 1), .completed(nil)])
        #expect(task.state == .completed)
        #expect(task.closeCode == .normalClosure)
        #expect(task.error == nil)
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.messages == [.text("Grüße"), .data(Data([0, 1, 255]))])
        #expect(seen?.closeCode == 1000)
        #expect(seen?.closeReason == "bye")
        #expect(seen?.ending == .complete)
        await stage.server.waitUntilDisconnected()
    }

    @Test("Completion handlers are called in order on the delegate queue")
    func handlers() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        let log = EventLog<String>()
        let queue = stage.session.delegateQueue
        for number in 0..<5 {
            task.send(.string("\(number)")) { error in
                log.append("sent \(error == nil) \(OperationQueue.current === queue)")
            }
        }
        for _ in 0..<5 {
            task.receive { result in
                log.append("got \((try? result.get().text) ?? "nothing") \(OperationQueue.current === queue)")
            }
        }
        await log.wait { $0.count == 10 }
        #expect(log.events.filter { $0.hasPrefix("sent") } == [String](repeating: "sent true true", count: 5))
        #expect(log.events.filter { $0.hasPrefix("got") } == (0..<5).map { "got \($0) true" })
    }

    @Test("Calls before resume wait for the connection")
    func beforeResume() async throws {
        let stage = try await WebSocketStage()
        let task = stage.session.webSocketTask(with: try stage.url())
        async let answer = task.receive()
        let log = EventLog<Bool>()
        task.send(.string("early")) { log.append($0 == nil) }
        task.resume()
        #expect(try await answer.text == "early")
        await log.wait { $0.count == 1 }
        #expect(log.events == [true])
    }

    static let compressions: [WebSocketCompression?] = [
        nil, WebSocketCompression(),
        WebSocketCompression(serverNoContextTakeover: true, clientNoContextTakeover: true),
        WebSocketCompression(serverMaxWindowBits: 9, clientMaxWindowBits: 8),
    ]

    @Test("Messages of every size are echoed, compressed or not", arguments: compressions)
    func sizes(compression: WebSocketCompression?) async throws {
        let script = compression.map { WebSocketScript.echo.compression($0) } ?? .echo
        let stage = try await WebSocketStage(script)
        let task = try stage.open()
        task.maximumMessageSize = 2 << 20
        for size in [0, 1, 15, 16, 125, 126, 127, 65_535, 65_536, 65_537, 100_000] {
            let noise = GeneratedContent(size: size, seed: UInt64(size)).data
            let words = String(String(repeating: "the quick brown fox ", count: size / 20 + 1).prefix(size))
            async let sent: Void = task.send(.data(noise))
            #expect(try await task.receive().data == noise)
            try await sent
            async let sentText: Void = task.send(.string(words))
            #expect(try await task.receive().text == words)
            try await sentText
        }
        #expect(stage.server.webSockets.first?.isCompressed == (compression != nil))
    }

    @Test("A message of 1.5 MiB is echoed")
    func large() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        task.maximumMessageSize = 3 << 19
        let content = GeneratedContent(size: 3 << 19, seed: 3).data
        async let sent: Void = task.send(.data(content))
        #expect(try await task.receive().data == content)
        try await sent
        #expect(task.countOfBytesSent == 3 << 19)
        #expect(task.countOfBytesReceived == 3 << 19)
    }

    @Test("Fragments are joined, with pings in between")
    func fragments() async throws {
        let hello = Data([0x01, 0x03]) + Data("Hel".utf8) + Data([0x89, 0x01, 0x70, 0x80, 0x02]) + Data("lo".utf8)
        let stage = try await WebSocketStage(.echo.fragments(of: 3).bytes(hello))
        let task = try stage.open()
        #expect(try await task.receive().text == "Hello")
        try await task.send(.string("and on it goes"))
        #expect(try await task.receive().text == "and on it goes")
        let seen = await stage.server.waitForWebSocket { !$0.pongs.isEmpty }
        #expect(seen?.pongs == [Data("p".utf8)])
    }

    @Test("Frames right behind the handshake's response are received")
    func earlyFrames() async throws {
        let stage = try await WebSocketStage(.listening.text("first").text("second"))
        let task = try stage.open()
        #expect(try await task.receive().text == "first")
        #expect(try await task.receive().text == "second")
    }

    @Test("Cancelling receive() loses no message and does not close the connection")
    func cancelledReceive() async throws {
        let gate = ServerGate()
        let stage = try await WebSocketStage(.listening.wait(at: gate).text("late"))
        let task = try stage.open()
        let waiting = Task { try await task.receive() }
        await stage.witness.opening()
        waiting.cancel()
        await #expect(errorCode { _ = try await waiting.value } == .cancelled)
        gate.open()
        #expect(try await task.receive().text == "late")
        #expect(task.state == .running)
    }

    @Test("A ping is answered, and one pong answers all pings before it")
    func pings() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        try await task.sendPing()
        #expect(stage.server.webSockets.first?.pings.count == 1)
        let second = Data([0, 0, 0, 0, 0, 0, 0, 3])
        let silent = WebSocketScript.listening.withoutPongs().receive(1).pong(second)
        stage.server.route("/silent", .webSocket(silent))
        let other = try stage.open("/silent")
        let log = EventLog<String>()
        other.sendPing { log.append("first \($0 == nil)") }
        other.sendPing { log.append("second \($0 == nil)") }
        other.sendPing { log.append("third \($0 == nil)") }
        other.sendPing { log.append("fourth \($0 == nil)") }
        try await other.send(.string("now"))
        await log.wait { $0.count == 3 }
        #expect(log.events == ["first true", "second true", "third true"])
        other.cancel()
        await log.wait { $0.count == 4 }
        #expect(log.events.last == "fourth false")
    }

    @Test("Every ping of the server is answered")
    func serverPings() async throws {
        let contents = (0..<10).map { Data("ping \($0)".utf8) }
        let stage = try await WebSocketStage(contents.reduce(.listening) { $0.ping($1) })
        _ = try stage.open()
        let seen = await stage.server.waitForWebSocket { $0.pongs.count == 10 }
        #expect(seen?.pongs == contents)
    }

    @Test("A thousand WebSockets work at the same time")
    func crowd() async throws {
        let stage = try await WebSocketStage()
        let count = 1_000
        let tasks = try (0..<count).map { _ in try stage.open() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for (number, task) in tasks.enumerated() {
                group.addTask {
                    for turn in 0..<3 {
                        try await task.send(.string("\(number) \(turn)"))
                        guard try await task.receive().text == "\(number) \(turn)" else { return false }
                    }
                    return true
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(stage.server.openConnections == count)
        for task in tasks { task.cancel(with: .goingAway, reason: nil) }
        await stage.server.waitUntilDisconnected()
        #expect(stage.server.webSockets.allSatisfy { $0.closeCode == 1001 && $0.messageCount == 3 })
    }
}
