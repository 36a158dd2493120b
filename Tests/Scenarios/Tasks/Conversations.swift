import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// Messages of every size to a server that sends them back.
    static let webSocketConversation = Scenario("web-socket-conversation") { world in
        let dice = Dice(world.seed, "web-socket-conversation")
        var script = WebSocketScript.echo
        if dice.oneIn(2) { script = script.fragments(of: dice.number(1...3_000)) }
        if dice.oneIn(2) { script = script.compression() }
        let server = world.server("chat.example")
        server.route("/chat", .webSocket(script))
        if dice.oneIn(2) { world.chaos = [.resets, .stalls, .refusals] }
        let url = URL(string: "ws://chat.example/chat") ?? server.url("/chat")
        let session = URLSession(configuration: .default)
        let messages = (0..<dice.number(1...25)).map { number in
            "\(number) " + String(repeating: "\(number)", count: dice.index(below: 1 << dice.index(below: 14)))
        }
        for attempt in 0..<40 {
            let task = session.webSocketTask(with: url)
            task.resume()
            let pongs = Notes(0)
            let sending = Task {
                for (number, message) in messages.enumerated() {
                    try await task.send(number % 3 == 0 ? .data(Data(message.utf8)) : .string(message))
                    if number % 5 == 0 { task.sendPing { _ in pongs.change { $0 += 1 } } }
                }
            }
            var count = 0
            do {
                for (number, message) in messages.enumerated() {
                    switch try await task.receive() {
                    case .string(let text):
                        try require(number % 3 != 0 && text == message, "message \(number) is \(text.prefix(40))")
                    case .data(let data):
                        try require(number % 3 == 0 && data == Data(message.utf8), "message \(number) differs")
                    @unknown default: throw Unmet("a message of no kind")
                    }
                    count += 1
                }
                try await sending.value
                task.cancel(with: .normalClosure, reason: nil)
                await server.wait { $0.webSockets.count > 0 && $0.webSockets.allSatisfy { $0.ending != nil } }
                try require(server.record.webSockets.allSatisfy { $0.violation == nil }, "the server saw a violation")
                for socket in server.record.webSockets {
                    for (number, message) in socket.messages.enumerated() {
                        let sent: ReceivedWebSocket.Message =
                            number % 3 == 0 ? .data(Data(messages[number].utf8)) : .text(messages[number])
                        try require(message == sent, "the server got another message \(number)")
                    }
                }
                session.invalidateAndCancel()
                return
            } catch let error as Unmet {
                throw error
            } catch {
                try require(!world.chaos.isEmpty, "attempt \(attempt), message \(count), without a fault: \(error)")
                // All sends end, too.
                _ = await sending.result
                try await world.sleep(for: .seconds(1))
            }
        }
        throw Unmet("forty attempts, and no conversation")
    }

    /// Bytes to a server that sends them back, on a connection of the program's own.
    static let streamConversation = Scenario("stream-conversation") { world in
        let dice = Dice(world.seed, "stream-conversation")
        let server = world.server("echo.example")
        server.route("/raw", .stream(.echo))
        if dice.oneIn(2) { world.chaos = [.resets, .stalls, .refusals] }
        let content = GeneratedContent(size: dice.number(1...60_000), seed: 8).data
        let session = URLSession(configuration: .default)
        let (piece, minimum) = (dice.number(1...9_000), dice.number(1...500))
        for _ in 0..<40 {
            let task = session.streamTask(withHostName: "echo.example", port: 80)
            task.resume()
            let head = Data(
                "GET /raw HTTP/1.1\r\nHost: echo.example\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n".utf8)
            let writing = Task {
                try await task.write(head, timeout: 0)
                var rest = content[...]
                while !rest.isEmpty {
                    try await task.write(Data(rest.prefix(piece)), timeout: 0)
                    rest = rest.dropFirst(piece)
                }
                task.closeWrite()
            }
            var received = Data()
            do {
                while true {
                    let (data, isLast) = try await task.readData(ofMinLength: minimum, maxLength: 4_000, timeout: 0)
                    received += data ?? Data()
                    if isLast { break }
                }
                try await writing.value
            } catch {
                try require(!world.chaos.isEmpty, "without a fault: \(error)")
            }
            task.cancel()
            _ = await writing.result
            let end = received.range(of: Data("\r\n\r\n".utf8))?.upperBound ?? received.endIndex
            let body = received[end...]
            try require(content.starts(with: body), "\(body.count) bytes are not what was sent")
            if body.count == content.count {
                session.invalidateAndCancel()
                return
            }
            try require(!world.chaos.isEmpty, "without a fault: \(body.count) of \(content.count) bytes")
            try await world.sleep(for: .seconds(1))
        }
        throw Unmet("forty attempts, and no conversation")
    }
}
