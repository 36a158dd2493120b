import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What is to be sent over a WebSocket connection, in order, and how far that has come.
///
/// Frames are made only when the transport has taken those before, a portion at a time, so that a message is not held twice.
@NetworkActor
struct WebSocketOutbox {
    typealias Handler = @Sendable ((any Error)?) -> Void

    enum Item {
        case message(Data, isText: Bool, Handler)
        case ping([UInt8])
        /// Nothing is sent after it.
        case close(WebSocketClose)
    }

    /// A message of which a part has been made into frames.
    private struct Current {
        let payload: Data
        let isText: Bool
        let handler: Handler
        var position = 0
    }

    /// Of more pings than that, while nothing can be sent, the older ones get no answer (RFC 6455 §5.5.3).
    private static let mostPongs = 64
    /// Frames are gathered until there are that many bytes, so that small messages share a segment.
    private static let batch = 16_384

    /// Encodes frames; `nil` until the handshake is over.
    private var writer: WebSocketWriter?
    private var trace: TaskTrace?
    /// The contents of the server's pings that have not been answered.
    private var pongs: [[UInt8]] = []
    private(set) var hasWrittenClose = false
    private var items = Queue<Item>()
    private var current: Current?
    private var buffer: [UInt8] = []
    private var sent = 0
    /// The handlers of messages whose last byte is in the buffer.
    private var written: [Handler] = []
    private var writtenBytes: Int64 = 0
    /// The handlers of messages that the transport has taken.
    private var completed: [Handler] = []
    private var completedBytes: Int64 = 0

    nonisolated init() {}

    /// The handshake is over.
    ///
    /// - Parameter trace: Records what is sent.
    mutating func start(_ writer: WebSocketWriter, _ trace: TaskTrace?) {
        self.writer = writer
        self.trace = trace
    }

    mutating func append(_ item: Item) { items.append(item) }

    /// Answers a ping, before anything else that waits.
    mutating func answer(ping content: [UInt8]) {
        if pongs.count == Self.mostPongs { pongs.removeFirst() }
        pongs.append(content)
    }

    /// There is something that only the transport keeps from going out.
    var hasMore: Bool {
        sent < buffer.count || (!hasWrittenClose && (!pongs.isEmpty || current != nil || !items.isEmpty))
    }

    /// The close frame has gone out.
    var hasSentClose: Bool { hasWrittenClose && sent == buffer.count }

    /// A frame may begin after what lies in the buffer.
    var isAtStartOfFrame: Bool { current == nil || writer?.isBetweenFrames == true }

    /// What the transport has not taken, to the end of the buffer.
    var unsent: [UInt8] { Array(buffer[sent...]) }

    /// Makes frames until there is something to send; false when there is nothing.
    mutating func compose() -> Bool {
        if sent < buffer.count { return true }
        buffer.removeAll(keepingCapacity: true)
        sent = 0
        while buffer.count < Self.batch, !hasWrittenClose, composeNext() {}
        return !buffer.isEmpty
    }

    private mutating func composeNext() -> Bool {
        guard writer != nil else { return false }
        if !pongs.isEmpty, isAtStartOfFrame {
            for content in pongs {
                writer?.write(.pong, content, makeKey: Self.makeKey, into: &buffer)
                trace?.record(.frameSent(.pong, count: content.count))
            }
            pongs = []
            return true
        }
        if current != nil {
            composePortion()
            return true
        }
        guard let item = items.first else { return false }
        items.removeFirst()
        switch item {
        case .message(let payload, let isText, let handler):
            current = Current(payload: payload, isText: isText, handler: handler)
            composePortion()
        case .ping(let content):
            writer?.write(.ping, content, makeKey: Self.makeKey, into: &buffer)
            trace?.record(.frameSent(.ping, count: content.count))
        case .close(let close): writeLast(close)
        }
        return true
    }

    private mutating func composePortion() {
        guard var message = current else { return }
        let isLast = writer?.write(
            message.payload.bytes, isText: message.isText, from: &message.position, makeKey: Self.makeKey, into: &buffer
        )
        if isLast == false {
            current = message
        } else {
            current = nil
            written.append(message.handler)
            writtenBytes += Int64(message.payload.count)
            trace?.sentMessage(message.payload, isText: message.isText)
        }
    }

    /// A close frame comes after what lies in the buffer, and nothing after it.
    mutating func writeLast(_ close: WebSocketClose) {
        hasWrittenClose = true
        writer?.write(.close, close.payload, makeKey: Self.makeKey, into: &buffer)
        trace?.sentClose(close)
    }

    /// RFC 6455 §10.3: from a strong source, which the system's is.
    private static func makeKey() -> UInt32 { UInt32(truncatingIfNeeded: Randomness().next()) }

    /// Hands the buffer, and no more than `limit` bytes of it, to the transport; returns how many bytes it took.
    mutating func send(through transport: any LoopTransport, atMost limit: Int) throws(SystemError) -> Int {
        let count = try transport.send(buffer, sent..<sent + min(limit, buffer.count - sent))
        sent += count
        if sent == buffer.count {
            completed += written
            completedBytes += writtenBytes
            written = []
            writtenBytes = 0
        }
        return count
    }

    /// Those whose message has gone out since the last call, and how many bytes they had.
    mutating func takeCompleted() -> (handlers: [Handler], bytes: Int64) {
        guard !completed.isEmpty else { return ([], 0) }
        defer {
            completed = []
            completedBytes = 0
        }
        return (completed, completedBytes)
    }

    /// Sends nothing more but the frame that was begun and a close frame. Returns whose messages are dropped.
    mutating func cutShort(with close: WebSocketClose) -> [Handler] {
        var dropped: [Handler] = []
        if let message = current, isAtStartOfFrame {
            current = nil
            dropped.append(message.handler)
        }
        dropped += dropItems()
        pongs = []
        items.append(.close(close))
        return dropped
    }

    /// Forgets everything. Returns whose messages have not gone out.
    mutating func removeAll() -> [Handler] {
        var dropped = completed + written
        if let current { dropped.append(current.handler) }
        dropped += dropItems()
        completed = []
        written = []
        current = nil
        pongs = []
        buffer = []
        sent = 0
        return dropped
    }

    private mutating func dropItems() -> [Handler] {
        var dropped: [Handler] = []
        while let item = items.first {
            items.removeFirst()
            if case .message(_, _, let handler) = item { dropped.append(handler) }
        }
        return dropped
    }
}

/// The pings that a client has sent and the server has not answered.
@NetworkActor
struct WebSocketPings {
    private var unanswered = Queue<(number: UInt64, handler: WebSocketOutbox.Handler)>()
    private var count: UInt64 = 0

    nonisolated init() {}

    /// Adds a ping; returns its content.
    mutating func append(_ handler: @escaping WebSocketOutbox.Handler) -> [UInt8] {
        count += 1
        unanswered.append((count, handler))
        return withUnsafeBytes(of: count.bigEndian) { [UInt8]($0) }
    }

    /// Removes the pings that a pong answers: it may answer only the last of several (RFC 6455 §5.5.3).
    mutating func answered(by content: [UInt8]) -> [WebSocketOutbox.Handler] {
        guard content.count == 8 else { return [] }
        let number = content.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number <= count else { return [] }
        return remove { $0 <= number }
    }

    mutating func removeAll() -> [WebSocketOutbox.Handler] {
        remove { _ in true }
    }

    private mutating func remove(while isRemoved: (UInt64) -> Bool) -> [WebSocketOutbox.Handler] {
        var removed: [WebSocketOutbox.Handler] = []
        while let ping = unanswered.first, isRemoved(ping.number) {
            unanswered.removeFirst()
            removed.append(ping.handler)
        }
        return removed
    }
}
