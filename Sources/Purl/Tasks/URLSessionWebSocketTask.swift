import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// A WebSocket connection (RFC 6455): messages both ways, as long as both sides like.
///
/// Made by a session from a `ws:` URL, or an `http:` one that counts as `ws:`, and started with ``resume()``. Messages can
/// be sent and asked for at once: they wait for the handshake. The task is over when the connection is: after a closing
/// handshake it completes without an error. See <doc:WebSockets>.
///
/// `@unchecked Sendable` as its superclass is; what it adds is `values`, behind a `Mutex`, and `conversation`, which
/// belongs to the network thread.
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    /// Why a connection was closed (RFC 6455 §7.4.1).
    public enum CloseCode: Int, Sendable {
        /// The connection is not closed, or was closed with a code that has no name here.
        case invalid = 0
        /// The connection has served its purpose.
        case normalClosure = 1000
        /// The server shuts down, or the user has left the page.
        case goingAway = 1001
        /// The other side broke the protocol.
        case protocolError = 1002
        /// Messages of a kind that cannot be taken.
        case unsupportedData = 1003
        /// The close frame had no code. Never sent.
        case noStatusReceived = 1005
        /// The connection was lost without a close frame. Never sent.
        case abnormalClosure = 1006
        /// Content that does not match its kind, such as text that is not UTF-8.
        case invalidFramePayloadData = 1007
        /// A message against the rules of the other side.
        case policyViolation = 1008
        /// A message that is too large to be taken.
        case messageTooBig = 1009
        /// The server did not agree to an extension that the client needs.
        case mandatoryExtensionMissing = 1010
        /// The server could not do what was asked for.
        case internalServerError = 1011
        /// TLS failed. Never sent.
        case tlsHandshakeFailure = 1015
    }

    /// A message.
    public enum Message: Sendable {
        /// Bytes.
        case data(Data)
        /// Text, which goes over the wire as UTF-8.
        case string(String)
    }

    /// What users may read at any time.
    struct Values {
        var maximumMessageSize = 1 << 20
        var closeCode = CloseCode.invalid
        var closeStatus: Int?
        var closeReason: Data?
    }

    let conversation: WebSocketConversation
    private let values = Mutex(Values())

    init(session: URLSession, identifier: Int, request: URLRequest) {
        let settings = session.settings
        let conversation = WebSocketConversation(
            heldBytes: settings.limits.bufferedBytesPerTask, clock: settings.clock)
        self.conversation = conversation
        super.init(
            session: session, identifier: identifier, request: request, source: .webSocket(conversation),
            consumer: .delegate)
    }

    // MARK: Messages

    /// Sends a message, after those that are on their way already.
    ///
    /// - Parameter completionHandler: Called on the delegate queue when the system has taken the whole message, or with the
    ///   reason why it never will: `URLError.networkConnectionLost` once the connection is closed. That the system has it
    ///   does not mean that the server has it.
    public func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        send(message, on: session?.queue, completionHandler)
    }

    /// Sends a message; returns when the system has taken all of it. See ``send(_:completionHandler:)``.
    public func send(_ message: Message) async throws {
        if let error = await handlerResult(of: { send(message, on: nil, $0) }) { throw error }
    }

    /// Asks for the next message. Each call gets one, in the order of the calls.
    ///
    /// Messages that no call waits for are held until they make up the configuration's
    /// ``URLSessionConfiguration/Limits/bufferedBytesPerTask``; then nothing more is read, and the server has to wait.
    /// Those that were held when the connection ended are received before the delegate's last calls, if the program asks
    /// for them, and can still be received after those.
    ///
    /// - Parameter completionHandler: Called on the delegate queue.
    public func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
        guard let queue = session?.queue else { return completionHandler(.failure(URLError.sessionIsGone)) }
        let conversation = conversation
        NetworkActor.post {
            conversation.receive { result in queue.enqueue { completionHandler(result.map { Message($0) }) } }
        }
    }

    /// Waits for the next message. When the surrounding `Task` is cancelled it throws `URLError.cancelled`; the message
    /// then waits for the next call, and the connection stays open.
    public func receive() async throws -> Message {
        guard session != nil else { throw URLError.sessionIsGone }
        let conversation = conversation
        let token = ReceiveToken()
        return try await withTaskCancellationHandler {
            try await handlerResult { handler in
                NetworkActor.post { conversation.receive(token) { handler($0.map { Message($0) }) } }
            }.get()
        } onCancel: {
            NetworkActor.post { conversation.cancelReceive(token) }
        }
    }

    /// Sends a ping, to see whether the server is there.
    ///
    /// - Parameter pongReceiveHandler: Called on the delegate queue when the server has answered it, or a later one; or
    ///   with an error when the connection has ended before.
    open func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        ping(on: session?.queue, pongReceiveHandler)
    }

    /// Sends a ping and waits for the answer. See ``sendPing(pongReceiveHandler:)``.
    open func sendPing() async throws {
        if let error = await handlerResult(of: { ping(on: nil, $0) }) { throw error }
    }

    private func send(
        _ message: Message, on queue: DelegateQueue?, _ handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard session != nil else { return handler(URLError.sessionIsGone) }
        let conversation = conversation
        let (content, isText) = message.content
        NetworkActor.post { conversation.send(content, isText: isText, Self.call(handler, on: queue)) }
    }

    private func ping(on queue: DelegateQueue?, _ handler: @escaping @Sendable ((any Error)?) -> Void) {
        guard session != nil else { return handler(URLError.sessionIsGone) }
        let conversation = conversation
        NetworkActor.post { conversation.ping(Self.call(handler, on: queue)) }
    }

    /// A handler is called on the delegate queue. A continuation needs no queue: it only passes the result on.
    private static func call(
        _ handler: @escaping @Sendable ((any Error)?) -> Void, on queue: DelegateQueue?
    ) -> @Sendable ((any Error)?) -> Void {
        guard let queue else { return handler }
        return { error in queue.enqueue { handler(error) } }
    }

    // MARK: Control

    open override func resume() { super.resume() }

    /// Ends the task: a close frame without a code is sent if there is room for it, no answer is waited for, and the
    /// task completes with `URLError.cancelled`.
    open override func cancel() { super.cancel() }

    /// Closes the connection: what was sent before goes out, then a close frame, and the task completes without an error
    /// when the server has answered it. A server that has not after five seconds (or `timeoutIntervalForRequest`, where
    /// that is less) is not waited for any longer: `URLError.timedOut`.
    ///
    /// Messages that come meanwhile can still be received, as far as they find room. Before the connection is open this is
    /// the same as ``cancel()``.
    ///
    /// - Parameters:
    ///   - closeCode: Those that never go over the wire, and `.invalid`, leave the frame empty.
    ///   - reason: UTF-8, of which up to 123 bytes are sent.
    open func cancel(with closeCode: CloseCode, reason: Data?) {
        cancel(withStatus: closeCode.rawValue, reason: reason)
    }

    /// Closes the connection with a code that ``CloseCode`` has no name for: 3000 to 4999 are free for libraries and
    /// programs. See ``cancel(with:reason:)``. A code that must not be sent leaves the frame empty.
    ///
    /// - Parameters:
    ///   - closeStatus: The status code.
    ///   - reason: The reason in the close frame.
    public func cancel(withStatus closeStatus: Int, reason: Data?) {
        let close = WebSocketClose(code: UInt16(exactly: closeStatus), reason: reason.map { [UInt8]($0) } ?? [])
        let conversation = conversation
        _ = cancel(.cancelWithReason) { transfer in
            if conversation.isUnderWay { conversation.close(close) } else { transfer?.cancel() }
        }
    }

    // MARK: What users read and set

    /// Why the task failed, once it has.
    open override var error: (any Error)? { super.error }

    /// The most bytes a message may have, its fragments taken together and decompressed; 1 MiB by default. A larger one
    /// ends the task with `URLError.dataLengthExceedsMaximum`, as soon as it is known to be larger.
    open var maximumMessageSize: Int {
        get { values.withLock { $0.maximumMessageSize } }
        set {
            let size = max(0, newValue)
            values.withLock { $0.maximumMessageSize = size }
            let conversation = conversation
            NetworkActor.post { conversation.setMaximumMessageSize(size) }
        }
    }

    /// Why the connection was closed; `.invalid` while it is not. The server's code, if it has sent a close frame; else the
    /// one we have sent for something that was wrong, or `.abnormalClosure`.
    open var closeCode: CloseCode { values.withLock { $0.closeCode } }

    /// The reason in the server's close frame, UTF-8.
    open var closeReason: Data? { values.withLock { $0.closeReason } }

    /// The number behind ``closeCode``, also where that has no name for it; `nil` while the connection is not closed.
    public var closeStatus: Int? { values.withLock { $0.closeStatus } }

    // MARK: For the conversation

    /// Sets why the connection is closed.
    func setClose(_ status: Int, reason: Data?) {
        values.withLock { values in
            values.closeStatus = status
            values.closeCode = CloseCode(rawValue: status) ?? .invalid
            values.closeReason = reason
        }
    }

    /// The delegate that the calls about the connection go to.
    var webSocketDelegate: (any URLSessionWebSocketDelegate)? {
        delegate as? any URLSessionWebSocketDelegate ?? session?.delegate as? any URLSessionWebSocketDelegate
    }
}

extension URLSessionWebSocketTask.Message {
    /// Text has been checked.
    fileprivate init(_ message: WebSocketMessage) {
        switch message {
        case .text(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): self = .data(Data(bytes))
        }
    }

    /// What goes over the wire.
    fileprivate var content: (bytes: Data, isText: Bool) {
        switch self {
        case .data(let data): (data, false)
        case .string(let text): (Data(text.utf8), true)
        }
    }
}
