import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What a WebSocket connection has received: the messages that no call has taken, and the calls that wait for more.
@NetworkActor
final class WebSocketInbox {
    typealias Receiver = @Sendable (Result<WebSocketMessage, any Error>) -> Void

    /// What a message costs beside its bytes, so that empty ones cannot pile up.
    private static let messageOverhead = 64

    /// The most bytes of messages that are held for later calls.
    private let limit: Int
    private var maximumMessageSize = 1 << 20
    /// Parses frames; `nil` until the handshake is over.
    private var reader: WebSocketReader?
    /// Bytes that had arrived when there was no room for more messages.
    private var stash: [UInt8] = []
    private var held = Queue<WebSocketMessage>()
    private var heldCount = 0
    private var receivers: [(token: ReceiveToken?, receiver: Receiver)] = []
    private let clock: SessionClock
    /// When a Swift task was resumed with the last message; `nil` when a handler received it.
    private(set) var lastResumption: MonotonicTime?

    nonisolated init(limit: Int, clock: SessionClock) {
        self.limit = limit
        self.clock = clock
    }

    func setMaximumMessageSize(_ size: Int) {
        maximumMessageSize = size
        reader?.maximumMessageSize = size
    }

    // MARK: Receivers

    /// Whether a call waits for a message.
    var isAwaited: Bool { !receivers.isEmpty }

    /// Gives a message that has arrived already to a call; false when there is none.
    ///
    /// - Parameter token: That of a Swift task; `nil` for a handler.
    func deliverHeld(to receiver: Receiver, _ token: ReceiveToken?) -> Bool {
        guard let message = held.first else { return false }
        held.removeFirst()
        heldCount -= message.count + Self.messageOverhead
        deliver(message, to: receiver, token)
        return true
    }

    func append(_ receiver: @escaping Receiver, _ token: ReceiveToken?) {
        receivers.append((token, receiver))
    }

    private func deliver(_ message: WebSocketMessage, to receiver: Receiver, _ token: ReceiveToken?) {
        lastResumption = token == nil ? nil : clock.now
        receiver(.success(message))
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

    /// Whether it holds messages that no call has received.
    var holdsMessages: Bool { held.first != nil }

    /// Whether there is room for a message, or a call waits for one.
    var hasRoom: Bool { isAwaited || heldCount < limit }

    /// Gives a message to the call that has waited longest, or holds it for the next.
    ///
    /// - Parameter mustFit: The message is dropped when there is no room for it.
    func deliver(_ message: WebSocketMessage, mustFit: Bool) {
        if isAwaited {
            let (token, receiver) = receivers.removeFirst()
            deliver(message, to: receiver, token)
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

    /// Reads no further frames.
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

extension WebSocketMessage {
    /// How many bytes the message has.
    fileprivate var count: Int {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes.count
        }
    }
}
