public import Foundation

/// A WebSocket connection that a server accepted, and what the client has sent on it so far.
public struct ReceivedWebSocket: Sendable, Equatable {
    /// A message of the client.
    public enum Message: Sendable, Equatable {
        case text(String)
        case data(Data)
    }

    /// The number of the handshake's request, as in ``ReceivedRequest/number``.
    public let request: Int
    /// The subprotocol that was chosen.
    public let subprotocol: String?
    /// Whether messages are compressed.
    public let isCompressed: Bool
    /// The messages, as long as there is room for them: as many bytes as a request's body may have.
    public internal(set) var messages: [Message] = []
    /// How many messages have come, those that were not kept included.
    public internal(set) var messageCount = 0
    /// How many bytes they had.
    public internal(set) var byteCount = 0
    /// The contents of the client's pings.
    public internal(set) var pings: [Data] = []
    /// The contents of the client's pongs.
    public internal(set) var pongs: [Data] = []
    /// Whether a close frame has come.
    public internal(set) var hasReceivedClose = false
    /// Its code; nil when it had none.
    public internal(set) var closeCode: Int?
    /// Its reason.
    public internal(set) var closeReason = ""
    /// How the client broke the protocol, one sentence.
    public internal(set) var violation: String?
    /// How the connection ended; nil while it is open. ``Ending/complete``: with a closing handshake.
    public internal(set) var ending: Ending?
}
