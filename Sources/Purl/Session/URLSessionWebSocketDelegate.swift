import Foundation

/// The calls that a session makes about WebSocket tasks, beside those about all tasks.
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    /// The handshake is over: messages can go both ways.
    ///
    /// - Parameter protocol: The subprotocol that the server chose among those it was offered, if any.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    )

    /// The server has sent a close frame, of its own or in answer to ours, and the messages before it have been received: see
    /// <doc:WebSockets>. The task's completion follows.
    ///
    /// - Parameters:
    ///   - closeCode: `.noStatusReceived` when the frame had no code; `.invalid` when it has one that the enumeration does
    ///     not know: ``URLSessionWebSocketTask/closeStatus`` has its number.
    ///   - reason: UTF-8; `nil` when there is none.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    )
}

extension URLSessionWebSocketDelegate {
    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        next(session, webSocketTask)?.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`)
    }

    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        next(session, webSocketTask)?
            .urlSession(session, webSocketTask: webSocketTask, didCloseWith: closeCode, reason: reason)
    }

    /// The session's delegate, where this is the task's own.
    private func next(_ session: URLSession, _ task: URLSessionTask) -> (any URLSessionWebSocketDelegate)? {
        session.delegate(after: self, of: task)
    }
}
