import Foundation
internal import PurlIO

/// A connection over which bytes go both ways (TCP), as long as both sides like.
///
/// Made by a session from a host and a port, and started with ``URLSessionTask/resume()``; or what a data task
/// becomes when its delegate answers a response with ``URLSession/ResponseDisposition/becomeStream``. Reads and writes can be
/// asked for at once: they wait for the connection, in a queue each, and are served in order. The task completes without
/// an error when both directions are closed, or its streams captured. See <doc:StreamTasks>.
///
/// `@unchecked Sendable` as its superclass is; what it adds is `conversation`, which belongs to the network thread.
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {
    private let conversation: StreamConversation

    init(session: URLSession, identifier: Int, request: URLRequest?, _ conversation: StreamConversation) {
        self.conversation = conversation
        super.init(
            session: session, identifier: identifier, request: request, source: .stream(conversation),
            consumer: .delegate)
    }

    // MARK: Reading

    /// Asks for bytes, after those that were asked for before.
    ///
    /// Bytes that no read has asked for are held up to the configuration's
    /// ``URLSessionConfiguration/Limits/bufferedBytesPerTask``, or as many as the first read needs; then nothing more is
    /// read, and the server has to wait.
    ///
    /// - Parameters:
    ///   - minBytes: So many are waited for, and at least one; fewer come only at the end of the stream.
    ///   - maxBytes: No more come at once. It goes before the minimum; with 0 no bytes are waited for, and none come.
    ///   - timeout: In seconds from this call, those in which the task is suspended not counted; 0 for no limit. A read
    ///     that is not complete by then fails with `URLError.timedOut`. Bytes that have arrived for it are not lost: the
    ///     next read gets them.
    ///   - completionHandler: Called on the delegate queue: with the bytes, and whether they were the last; with `nil`
    ///     and `true` when there were none left; or with the reason why none can be read.
    open func readData(
        ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval,
        completionHandler: @escaping @Sendable (Data?, Bool, (any Error)?) -> Void
    ) {
        guard let queue = session?.queue else { return completionHandler(nil, false, URLError.sessionIsGone) }
        let conversation = conversation
        NetworkActor.post {
            conversation.read(minimum: minBytes, maximum: maxBytes, timeout: Self.limit(timeout)) { result in
                queue.enqueue {
                    switch result {
                    case .success(let (bytes, isLast)): completionHandler(bytes, isLast, nil)
                    case .failure(let error): completionHandler(nil, false, error)
                    }
                }
            }
        }
    }

    /// Waits for bytes; see ``readData(ofMinLength:maxLength:timeout:completionHandler:)``. When the surrounding `Task` is
    /// cancelled it throws `URLError.cancelled`; the bytes then wait for the next call, and the connection stays open.
    ///
    /// - Parameters:
    ///   - minBytes: The least number of bytes, unless the stream ends before.
    ///   - maxBytes: The greatest number of bytes.
    ///   - timeout: Seconds until the call fails; 0 for none.
    open func readData(
        ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval
    ) async throws -> (Data?, Bool) {
        guard session != nil else { throw URLError.sessionIsGone }
        let conversation = conversation
        let token = ReceiveToken()
        return try await withTaskCancellationHandler {
            try await handlerResult { handler in
                NetworkActor.post {
                    conversation.read(
                        minimum: minBytes, maximum: maxBytes, timeout: Self.limit(timeout), token: token
                    ) { handler($0) }
                }
            }.get()
        } onCancel: {
            NetworkActor.post { conversation.cancelRead(token) }
        }
    }

    // MARK: Writing

    /// Sends bytes, after those that are on their way already.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - timeout: In seconds from this call, those in which the task is suspended not counted; 0 for no limit. A write
    ///     that is not done by then fails with `URLError.timedOut`. If some of its bytes had gone out already the rest is
    ///     missing, so that later writes fail, too.
    ///   - completionHandler: Called on the delegate queue when the system has taken all the bytes, or with the reason
    ///     why it never will. That the system has them does not mean that the server has them.
    open func write(
        _ data: Data, timeout: TimeInterval, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let queue = session?.queue else { return completionHandler(URLError.sessionIsGone) }
        let conversation = conversation
        NetworkActor.post {
            conversation.write(data, timeout: Self.limit(timeout)) { error in
                queue.enqueue { completionHandler(error) }
            }
        }
    }

    /// Sends bytes; returns when the system has taken all of them. See ``write(_:timeout:completionHandler:)``.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - timeout: Seconds until the call fails; 0 for none.
    open func write(_ data: Data, timeout: TimeInterval) async throws {
        guard session != nil else { throw URLError.sessionIsGone }
        let conversation = conversation
        let error = await handlerResult { handler in
            NetworkActor.post { conversation.write(data, timeout: Self.limit(timeout)) { handler($0) } }
        }
        if let error { throw error }
    }

    /// Nothing, or nothing that makes sense, is not a limit.
    private static func limit(_ timeout: TimeInterval) -> Duration? {
        timeout > 0 && timeout < 1_000_000_000 ? Deadlines.duration(timeout) : nil
    }

    // MARK: Ends

    /// Ends the stream to the server once everything that was to be written before has gone. Later writes fail. The
    /// delegate's `urlSession(_:writeClosedFor:)` is called. What the server sends can still be read.
    open func closeWrite() {
        let conversation = conversation
        NetworkActor.post { conversation.closeWrite() }
    }

    /// Reads nothing more once everything that was asked for before has come. Later reads fail, and what the server still
    /// sends is thrown away. The delegate's `urlSession(_:readClosedFor:)` is called. Writing continues.
    open func closeRead() {
        let conversation = conversation
        NetworkActor.post { conversation.closeRead() }
    }

    /// Turns the task's connection into an `InputStream` and an `OutputStream`, once all reads and writes that were asked
    /// for before are done.
    ///
    /// The delegate gets them in `urlSession(_:streamTask:didBecome:outputStream:)`, not yet open; the input begins with
    /// what has arrived and has not been read, or is at its end if the task was closed for reading. The task is then
    /// ``URLSessionTask/State/completed`` without an error, and that was its delegate's last call: neither metrics nor a
    /// completion follow. Later reads and writes fail.
    ///
    /// A delegate that is not a ``URLSessionStreamDelegate`` gets no streams: the connection is closed, and the task
    /// completes. The same happens when the task is cancelled before the streams have reached the delegate.
    open func captureStreams() {
        let conversation = conversation
        NetworkActor.post { conversation.append(.captureStreams) }
    }

    /// Makes the connection secure, once all reads and writes that were asked for before are done. Those that are asked for
    /// later wait until it is.
    ///
    /// It takes a ``URLSessionConfiguration/tlsProvider``, and the server has to be trusted; see <doc:TLS>. Otherwise the task
    /// ends with an error. What the server had sent before and no read has taken is given to TLS, which fails then: it is
    /// not taken for what a secure connection has brought. The task ends with an error, too, where nothing can be written any
    /// more: after ``closeWrite()``, and after a write of which only a part was sent. The connection cannot be captured any
    /// more. One that is secure already stays as it is.
    open func startSecureConnection() {
        let conversation = conversation
        NetworkActor.post { conversation.append(.secureConnection) }
    }

    /// Does nothing: a connection that is secure stays so. On Apple's systems it does nothing, either.
    open func stopSecureConnection() {}

    // MARK: For the conversation

    override var failingURL: URL? { conversation.request?.url }

    /// The delegate that receives the calls about the connection.
    var streamDelegate: (any URLSessionStreamDelegate)? {
        delegate as? any URLSessionStreamDelegate ?? session?.delegate as? any URLSessionStreamDelegate
    }
}
