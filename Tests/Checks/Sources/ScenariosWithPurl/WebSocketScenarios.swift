import Foundation
import PurlTesting

/// WebSocket tasks, as far as both libraries support them.
enum WebSocketScenarios {
    static let all = [
        Scenario("websocket.values") { stage in
            let codes: [URLSessionWebSocketTask.CloseCode] = [
                .invalid, .normalClosure, .goingAway, .protocolError, .unsupportedData, .noStatusReceived,
                .abnormalClosure, .invalidFramePayloadData, .policyViolation, .messageTooBig,
                .mandatoryExtensionMissing, .internalServerError, .tlsHandshakeFailure,
            ]
            stage.note("codes", codes.map(\.rawValue))
            stage.note("unknown", URLSessionWebSocketTask.CloseCode(rawValue: 4000))
            let task = stage.session().webSocketTask(with: try url(stage), protocols: ["a", "b"])
            stage.note("largest message", task.maximumMessageSize)
            stage.note("close code", task.closeCode)
            stage.note("close reason", task.closeReason)
            stage.note("state", task.state.rawValue)
            stage.note("protocols", task.originalRequest?.value(forHTTPHeaderField: "Sec-WebSocket-Protocol"))
        },
        Scenario("websocket.echo") { stage in
            stage.server.route("/ws", .webSocket())
            let recorder = Recorder()
            let task = stage.session(recorder).webSocketTask(with: try url(stage))
            task.resume()
            do {
                try await task.send(.string("hello"))
                stage.note("received", try await task.receive())
                task.cancel(with: .normalClosure, reason: nil)
            } catch {
                stage.note("error", "\((error as NSError).domain) \((error as NSError).code)")
            }
            await recorder.completion()
            stage.note("calls", recorder.calls.joined(separator: ", "))
            stage.note("close code", task.closeCode)
        },
        Scenario("websocket.messages-before-close") { stage in
            stage.server.route("/ws", .webSocket(.listening.text("1").text("2").text("3").close(1000)))
            let recorder = Recorder()
            let task = stage.session(recorder).webSocketTask(with: try url(stage))
            task.resume()
            do {
                while true { stage.note("received", try await task.receive()) }
            } catch {
                stage.note("error", "\((error as NSError).domain) \((error as NSError).code)")
            }
            await recorder.completion()
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
        Scenario("websocket.http-url") { stage in
            stage.server.route("/ws", .webSocket())
            let recorder = Recorder()
            let task = stage.session(recorder).webSocketTask(with: stage.server.url("/ws"))
            task.resume()
            await stage.server.wait { $0.requests.count == 1 }
            stage.note("handshake", stage.server.requests.first?.fields["Upgrade"])
            task.cancel()
            await recorder.completion()
            stage.note("last", recorder.calls.last)
        },
    ]

    private static func url(_ stage: Stage) throws -> URL {
        guard let url = URL(string: "ws://127.0.0.1:\(stage.server.port)/ws") else { throw URLError(.badURL) }
        return url
    }
}
