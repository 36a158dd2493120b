import Foundation
import Purl
import PurlTesting

extension Scene {
    /// A WebSocket's handshake, a message each way, and its closing.
    static let webSocket = Scene("websocket", "A WebSocket") { stage in
        let url = stage.server.route("/chat", .webSocket(.echo))
        guard let address = URL(string: url.absoluteString.replacing("http:", with: "ws:")) else { return }
        let session = URLSession(
            configuration: stage.configuration, delegate: SceneDelegate(), delegateQueue: nil)
        let task = session.webSocketTask(with: address)
        task.resume()
        await stage.waitFor(.didOpenWithProtocol)
        stage.turnClock(by: .seconds(1))
        try await task.send(.string("hello"))
        _ = try await task.receive()
        stage.turnClock(by: .seconds(1))
        task.cancel(with: .normalClosure, reason: nil)
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    /// A stream task that writes a line and reads another.
    static let stream = Scene("stream", "A stream task") { stage in
        stage.server.stream(.listening.expect("hello\n").send("welcome\n").waitForEnd())
        let session = URLSession(
            configuration: stage.configuration, delegate: SceneDelegate(), delegateQueue: nil)
        let task = session.streamTask(withHostName: "in-memory.test", port: 8080)
        task.resume()
        try await task.write(Data("hello\n".utf8), timeout: 0)
        _ = try await task.readData(ofMinLength: 8, maxLength: 100, timeout: 0)
        stage.turnClock(by: .seconds(1))
        task.closeWrite()
        task.closeRead()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }
}
