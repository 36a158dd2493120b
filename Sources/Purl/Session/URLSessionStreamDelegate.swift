import Foundation

/// The calls that a session makes about stream tasks, beside those about all tasks.
public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
    /// Nothing more comes from the server: it has ended its stream, or ``URLSessionStreamTask/closeRead()`` has had its
    /// turn. Called once at most, also when no read waits. In the first case there may still be bytes to be read: the
    /// last of them come with the end.
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

    /// Nothing more goes to the server: ``URLSessionStreamTask/closeWrite()`` has had its turn, or the server takes
    /// nothing any more. Called once at most.
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

    /// A better way to the server is known. Never called: Purl does not watch networks come and go.
    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

    /// The answer to ``URLSessionStreamTask/captureStreams()``. The streams are not open yet. They belong to the
    /// delegate and have nothing to do with the session any more. The task has completed, and no more calls about it
    /// are made: neither metrics nor a completion follow.
    ///
    /// `property(forKey:)` is nil for every key, and no property can be set: what a socket's streams have elsewhere, its
    /// security level and its proxies, is settled here before there are streams.
    ///
    /// - Parameters:
    ///   - inputStream: The stream to read from.
    ///   - outputStream: The stream to write to.
    func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    )
}

extension URLSessionStreamDelegate {
    public func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.urlSession(session, readClosedFor: streamTask)
    }

    public func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        next(session, streamTask)?.urlSession(session, writeClosedFor: streamTask)
    }

    public func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {}

    public func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        next(session, streamTask)?
            .urlSession(session, streamTask: streamTask, didBecome: inputStream, outputStream: outputStream)
    }

    /// The session's delegate, where this is the task's own.
    private func next(_ session: URLSession, _ task: URLSessionTask) -> (any URLSessionStreamDelegate)? {
        session.delegate(after: self, of: task)
    }
}
