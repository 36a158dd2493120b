import Foundation
internal import PurlHTTP
internal import PurlIO

/// What comes over a WebSocket connection: the messages that no call has received, and the calls that wait for more.
@NetworkActor
final class WebSocketInbox {
    typealias Receiver = @Sendable (Result<URLSessionWebSocketTask.Message, any Error>) -> Void

    /// What a message costs beside its bytes, so that empty ones cannot pile up.
    private static let messageOverhead = 64

    /// How many bytes of messages are held for calls to come.
    private let limit: Int
    private var maximumMessageSize = 1 << 20
    /// There once the handshake is over.
    private var reader: WebSocketReader?
    /// Bytes that had arrived when there was no room for more messages.
    private var stash: [UInt8] = []
    private var held = Queue<URLSessionWebSocketTask.Message>()
    private var heldCount = 0
    private var receivers: [(token: ReceiveToken?, receiver: Receiver)] = []

    nonisolated init(limit: Int) {
        self.limit = limit
    }

    func setMaximumMessageSize(_ size: Int) {
        maximumMessageSize = size
        reader?.maximumMessageSize = size
    }

    // MARK: Receivers

    /// A message that has come already; `nil` when there is none.
    func takeMessage() -> URLSessionWebSocketTask.Message? {
        guard let message = held.first else { return nil }
        held.removeFirst()
        heldCount -= message.count + Self.messageOverhead
        return message
    }

    func append(_ receiver: @escaping Receiver, _ token: ReceiveToken?) {
        receivers.append((token, receiver))
    }

    /// Fails the call with this token.
    func cancel(_ token: ReceiveToken, _ error: any Error) {
        guard let place = receivers.firstIndex(where: { $0.token === token }) else { return }
        receivers.remove(at: place).receiver(.failure(error))
    }

    func failAll(_ error: any Error) {
        let waiting = receivers
        receivers = []
        for entry in waiting { entry.receiver(.failure(error)) }
    }

    // MARK: Messages

    /// There is room for a message, or a call waits for one.
    var hasRoom: Bool { !receivers.isEmpty || heldCount < limit }

    /// Gives a message to the call that has waited longest, or holds it for the next.
    ///
    /// - Parameter mustFit: The message is dropped when there is no room for it.
    func deliver(_ message: WebSocketMessage, mustFit: Bool) {
        let message = URLSessionWebSocketTask.Message(message)
        if !receivers.isEmpty {
            receivers.removeFirst().receiver(.success(message))
        } else if !mustFit || heldCount < limit {
            held.append(message)
            heldCount += message.count + Self.messageOverhead
        }
    }

    func dropMessages() {
        held = Queue()
        heldCount = 0
    }

    // MARK: Frames

    /// The handshake is over.
    ///
    /// - Parameter bytes: What the server has sent after it.
    func start(_ agreement: WebSocketHandshake.Agreement, received bytes: [UInt8]) {
        reader = WebSocketReader(
            role: .client, maximumMessageSize: maximumMessageSize, compression: agreement.compression)
        stash = bytes
    }

    /// Nothing is read any more.
    func stop() {
        reader = nil
    }

    /// The next event in `bytes`; `nil` when there are too few of them.
    func next(
        _ bytes: UnsafeRawBufferPointer, from offset: inout Int
    ) throws(WebSocketError) -> WebSocketReader.Event? {
        try reader?.next(bytes.bytes, from: &offset)
    }

    /// Keeps bytes for when there is room.
    func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        stash.append(contentsOf: bytes)
    }

    /// Removes and returns the bytes that were kept.
    func takeKept() -> [UInt8] {
        defer { stash = [] }
        return stash
    }

    var hasKept: Bool { !stash.isEmpty }
}

extension URLSessionWebSocketTask.Message {
    /// Text has been checked.
    fileprivate init(_ message: WebSocketMessage) {
        switch message {
        case .text(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): self = .data(Data(bytes))
        }
    }

    /// How many bytes it takes.
    fileprivate var count: Int {
        switch self {
        case .data(let data): data.count
        case .string(let text): text.utf8.count
        }
    }
}
