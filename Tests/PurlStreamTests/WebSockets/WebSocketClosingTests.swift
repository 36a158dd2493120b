import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The closing of WebSockets", .timeLimit(.minutes(5)))
struct WebSocketClosingTests {
    typealias Code = URLSessionWebSocketTask.CloseCode

    static let serverCodes: [(Int?, String, code: Code, status: Int)] = [
        (1000, "done", .normalClosure, 1000), (1001, "", .goingAway, 1001), (1008, "no", .policyViolation, 1008),
        (1011, "", .internalServerError, 1011), (nil, "", .noStatusReceived, 1005), (4321, "own", .invalid, 4321),
    ]

    @Test("When the server closes, its messages are received first, then its close code", arguments: serverCodes)
    func serverCloses(sent: Int?, reason: String, code: Code, status: Int) async throws {
        let stage = try await WebSocketStage(.listening.text("a").text("b").close(sent, reason: reason))
        let task = try stage.open()
        #expect(try await task.receive().text == "a")
        #expect(try await task.receive().text == "b")
        await expectClosed(task)
        await stage.witness.completion()
        let told = reason.isEmpty ? nil : reason
        #expect(
            stage.witness.events
                == [.opened(nil), .closed(code.rawValue, told), .metrics(transactions: 1), .completed(nil)])
        #expect(task.closeCode == code)
        #expect(task.closeStatus == status)
        #expect(task.closeReason == told.map { Data($0.utf8) })
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        // RFC 6455 §5.5.1: the close frame is echoed with its code.
        #expect(seen?.hasReceivedClose == true)
        #expect(seen?.closeCode == sent)
        #expect(seen?.ending == .complete)
    }

    /// Expects that every call on the closed task fails.
    private func expectClosed(_ task: URLSessionWebSocketTask) async {
        await #expect(errorCode { _ = try await task.receive() } == .networkConnectionLost)
        await #expect(errorCode { try await task.send(.string("late")) } == .networkConnectionLost)
        await #expect(errorCode { try await task.sendPing() } == .networkConnectionLost)
        do {
            _ = try await task.receive()
        } catch {
            let underlying = (error as? URLError)?.userInfo[NSUnderlyingErrorKey] as? any Error
            #expect((underlying as? POSIXError)?.code == .ENOTCONN)
        }
    }

    static let clientCodes: [(Code, String?, received: Int?)] = [
        (.normalClosure, "bye", 1000), (.goingAway, nil, 1001), (.policyViolation, "rude", 1008),
        (.invalid, "unsaid", nil), (.noStatusReceived, nil, nil), (.abnormalClosure, nil, nil),
        (.tlsHandshakeFailure, nil, nil),
    ]

    @Test("When the client closes, earlier messages are sent first", arguments: clientCodes)
    func clientCloses(code: Code, reason: String?, received: Int?) async throws {
        let stage = try await WebSocketStage(.listening)
        let task = try stage.open()
        await stage.witness.opening()
        task.send(.string("last words")) { _ in }
        task.cancel(with: code, reason: reason.map { Data($0.utf8) })
        // The server answers at once, so the task may have completed already.
        #expect(task.state != .running)
        await stage.witness.completion()
        #expect(task.state == .completed)
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.messages == [.text("last words")])
        #expect(seen?.hasReceivedClose == true)
        #expect(seen?.closeCode == received)
        #expect(seen?.closeReason == (received == nil ? "" : reason ?? ""))
        #expect(seen?.ending == .complete)
        #expect(task.error == nil)
        #expect(task.closeCode.rawValue == received ?? 1005)
        await expectClosed(task)
    }

    @Test("Close codes of the application are sent and received")
    func ownCodes() async throws {
        let stage = try await WebSocketStage(.listening)
        let task = try stage.open()
        await stage.witness.opening()
        task.cancel(withStatus: 3456, reason: Data("mine".utf8))
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.closeCode == 3456)
        await stage.witness.completion()
        #expect(task.closeStatus == 3456)
    }

    @Test("A long close reason is cut between characters")
    func longReason() async throws {
        let stage = try await WebSocketStage(.listening)
        let task = try stage.open()
        await stage.witness.opening()
        task.cancel(with: .normalClosure, reason: Data(String(repeating: "€", count: 100).utf8))
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.closeReason == String(repeating: "€", count: 41))
    }

    @Test("A close frame that the server does not answer does not delay the end")
    func unanswered() throws {
        try Simulation(1).run { world in
            let stage = try await WebSocketStage(.listening.withoutCloseAnswer(), in: world)
            let task = try stage.open()
            await stage.witness.opening()
            task.cancel(with: .normalClosure, reason: nil)
            await stage.witness.completion()
            #expect(stage.witness.events.last == .completed(.timedOut))
            #expect(task.closeCode == .abnormalClosure)
            #expect((.seconds(5) ... .seconds(6)).contains(world.elapsed))
            await stage.server.waitUntilDisconnected()
        }
    }

    @Test("An open WebSocket does not time out")
    func idle() throws {
        try Simulation(1).run { world in
            let gate = ServerGate()
            let stage = try await WebSocketStage(.listening.wait(at: gate).text("at last"), in: world)
            let task = try stage.open()
            await stage.witness.opening()
            try await world.sleep(for: .seconds(3600))
            gate.open()
            #expect(try await task.receive().text == "at last")
            task.cancel(with: .normalClosure, reason: nil)
        }
    }

    @Test("A connection that ends without a close frame fails the task", arguments: [false, true])
    func abrupt(isReset: Bool) async throws {
        let script = WebSocketScript.listening.text("a").receive(1)
        let stage = try await WebSocketStage(isReset ? script.reset() : script.cut())
        let task = try stage.open()
        #expect(try await task.receive().text == "a")
        async let next = errorCode { _ = try await task.receive() }
        async let pong = errorCode { try await task.sendPing() }
        task.send(.string("go")) { _ in }
        #expect(await next == .networkConnectionLost)
        _ = await pong
        await stage.witness.completion()
        #expect(stage.witness.events.contains(.completed(.networkConnectionLost)))
        #expect(!stage.witness.events.contains { if case .closed = $0 { true } else { false } })
        #expect(task.closeCode == .abnormalClosure)
        #expect(task.error is URLError)
        await #expect(errorCode { try await task.send(.string("late")) } == .networkConnectionLost)
        #expect(stage.witness.error?.failingURL?.scheme == "ws")
    }

    @Test("cancel() fails waiting calls and closes the connection to the server")
    func cancel() async throws {
        let stage = try await WebSocketStage(.listening)
        let task = try stage.open()
        await stage.witness.opening()
        async let message = errorCode { _ = try await task.receive() }
        _ = await stage.server.waitForWebSocket { _ in true }
        task.cancel()
        #expect(await message == .cancelled)
        await stage.witness.completion()
        #expect(stage.witness.events == [.opened(nil), .metrics(transactions: 1), .completed(.cancelled)])
        await #expect(errorCode { try await task.send(.string("late")) } == .cancelled)
        await #expect(errorCode { _ = try await task.receive() } == .cancelled)
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.hasReceivedClose == true)
        #expect(seen?.closeCode == nil)
        await stage.server.waitUntilDisconnected()
    }

    @Test("A message that is sent just before cancel() reaches the server")
    func cancelAfterSend() async throws {
        let stage = try await WebSocketStage(.listening)
        let task = try stage.open()
        await stage.witness.opening()
        task.send(.string("last words")) { _ in }
        task.cancel()
        await stage.witness.completion()
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.messages == [.text("last words")])
        #expect(seen?.hasReceivedClose == true)
    }

    @Test("A task that is cancelled before the handshake ends fails with cancelled", arguments: [false, true])
    func cancelEarly(isPolite: Bool) async throws {
        let stage = try await WebSocketStage()
        let task = stage.session.webSocketTask(with: try stage.url("/none"))
        async let message = errorCode { _ = try await task.receive() }
        async let sent = errorCode { try await task.send(.string("never")) }
        if isPolite { task.cancel(with: .goingAway, reason: nil) } else { task.cancel() }
        #expect(await message == .cancelled)
        #expect(await sent == .cancelled)
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(.cancelled))
        #expect(stage.server.requests.isEmpty)
    }

    @Test("finishTasksAndInvalidate waits for WebSockets, invalidateAndCancel cancels them")
    func invalidation() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        await stage.witness.opening()
        stage.session.finishTasksAndInvalidate()
        try await task.send(.string("still here"))
        #expect(try await task.receive().text == "still here")
        task.cancel(with: .normalClosure, reason: nil)
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(nil))
        let late = stage.session.webSocketTask(with: try stage.url()).resumed()
        await #expect(errorCode { _ = try await late.receive() } == .cancelled)
    }
}
