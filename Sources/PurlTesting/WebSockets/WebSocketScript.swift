public import Foundation
internal import PurlHTTP

/// What a server does on a WebSocket connection, for ``Reply/webSocket(_:)``.
///
/// A script is a value. Begin with ``echo`` or ``listening`` and add steps, which run in order as soon as the connection
/// is open; each call returns a changed copy:
///
/// ```swift
/// let script = WebSocketScript.listening
///     .text("Who is there?")
///     .receive(1)
///     .close(1000, reason: "bye")
/// ```
///
/// During the steps, and after them, the server reads what the client sends, answers pings and the closing handshake, and
/// with ``echo`` sends messages back. A client that breaks the protocol gets a close frame with the code for it.
public struct WebSocketScript: Sendable {
    /// One thing to do next.
    enum Step: Sendable {
        case message(WebSocketMessage)
        case control(WebSocketOpcode, [UInt8])
        case bytes([UInt8])
        case receive(Int)
        case wait(ServerGate)
        case pauseReading(ServerGate)
        case cut
        case reset
    }

    private(set) var steps: [Step] = []
    /// Whether every message is sent back.
    let echoes: Bool
    private(set) var subprotocols: [String] = []
    private(set) var compression: WebSocketCompression?
    private(set) var answersPings = true
    private(set) var answersClose = true
    private(set) var fragmentSize: Int?
    private(set) var maximumMessageSize = 256 << 20

    /// A script that sends every message back.
    public static var echo: WebSocketScript { WebSocketScript(echoes: true) }

    /// A script that sends nothing but its steps.
    public static var listening: WebSocketScript { WebSocketScript(echoes: false) }

    private init(echoes: Bool) {
        self.echoes = echoes
    }

    private func changed(_ change: (inout WebSocketScript) -> Void) -> WebSocketScript {
        var script = self
        change(&script)
        return script
    }

    private func adding(_ step: Step) -> WebSocketScript { changed { $0.steps.append(step) } }

    // MARK: Steps

    /// Sends a text message.
    ///
    /// - Parameter text: The message.
    public func text(_ text: String) -> WebSocketScript { adding(.message(.text([UInt8](text.utf8)))) }

    /// Sends a binary message.
    ///
    /// - Parameter data: The message.
    public func data(_ data: Data) -> WebSocketScript { adding(.message(.binary([UInt8](data)))) }

    /// Sends a ping.
    ///
    /// - Parameter content: Its content, of which the first 125 bytes are sent.
    public func ping(_ content: Data = Data()) -> WebSocketScript { adding(.control(.ping, [UInt8](content))) }

    /// Sends a pong that answers no ping, or an older one.
    ///
    /// - Parameter content: Its content, of which the first 125 bytes are sent.
    public func pong(_ content: Data = Data()) -> WebSocketScript { adding(.control(.pong, [UInt8](content))) }

    /// Begins the closing handshake.
    ///
    /// - Parameter code: The close code. One that must not be sent is left out; ``bytes(_:)`` can send it nonetheless.
    public func close(_ code: Int? = 1000, reason: String = "") -> WebSocketScript {
        let code = code.flatMap { UInt16(exactly: $0) }
        return adding(.control(.close, WebSocketClose(code: code, reason: [UInt8](reason.utf8)).payload))
    }

    /// Sends bytes as they are: invalid frames, or parts of one.
    public func bytes(_ bytes: Data) -> WebSocketScript { adding(.bytes([UInt8](bytes))) }

    /// Waits until the client has sent so many messages in all.
    ///
    /// - Parameter count: How many messages.
    public func receive(_ count: Int) -> WebSocketScript { adding(.receive(count)) }

    /// Waits until a gate opens. What the client sends is read meanwhile.
    public func wait(at gate: ServerGate) -> WebSocketScript { adding(.wait(gate)) }

    /// Stops reading from the client until a gate opens. The steps after this one run meanwhile.
    public func notReading(until gate: ServerGate) -> WebSocketScript { adding(.pauseReading(gate)) }

    /// Closes the connection without a close frame.
    public func cut() -> WebSocketScript { adding(.cut) }

    /// Resets the connection.
    public func reset() -> WebSocketScript { adding(.reset) }

    // MARK: Settings

    /// Sets the server's subprotocols, of which it has none by default. It chooses the first of them that the client
    /// offers.
    ///
    /// - Parameter names: Their names, the best first.
    public func subprotocols(_ names: [String]) -> WebSocketScript { changed { $0.subprotocols = names } }

    /// Compresses messages if the client offers compression. By default the server does not.
    ///
    /// - Parameter compression: With which parameters.
    public func compression(_ compression: WebSocketCompression = WebSocketCompression()) -> WebSocketScript {
        changed { $0.compression = compression }
    }

    /// Sends no pongs.
    public func withoutPongs() -> WebSocketScript { changed { $0.answersPings = false } }

    /// Does not answer the client's close frame, and keeps the connection open.
    public func withoutCloseAnswer() -> WebSocketScript { changed { $0.answersClose = false } }

    /// Sends messages in fragments, without compression.
    ///
    /// - Parameter size: How many bytes a fragment has.
    public func fragments(of size: Int) -> WebSocketScript { changed { $0.fragmentSize = max(1, size) } }

    /// Limits the size of the client's messages, which is 256 MiB by default.
    ///
    /// - Parameter size: How many bytes a message may have.
    public func maximumMessageSize(_ size: Int) -> WebSocketScript { changed { $0.maximumMessageSize = size } }
}

/// The compression parameters of a server (permessage-deflate, RFC 7692), for clients that offer compression.
public struct WebSocketCompression: Sendable, Hashable {
    /// Whether each message of the server is compressed by itself.
    public var serverNoContextTakeover: Bool
    /// Whether the client has to compress each message by itself.
    public var clientNoContextTakeover: Bool
    /// The base-2 logarithm of the server's window in bytes, 8 to 15.
    public var serverMaxWindowBits: Int
    /// The base-2 logarithm of the client's window in bytes, 8 to 15, if the client offers to limit it.
    public var clientMaxWindowBits: Int

    /// Sets parameters; by default those of the best compression.
    ///
    /// - Parameters:
    ///   - serverNoContextTakeover: Whether each message of the server is compressed by itself.
    ///   - clientNoContextTakeover: Whether the client has to compress each message by itself.
    ///   - serverMaxWindowBits: The base-2 logarithm of the server's window in bytes, 8 to 15.
    ///   - clientMaxWindowBits: The base-2 logarithm of the client's window in bytes, 8 to 15.
    public init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
        clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = min(max(serverMaxWindowBits, 8), 15)
        self.clientMaxWindowBits = min(max(clientMaxWindowBits, 8), 15)
    }

    /// The parameters as the handshake takes them.
    var parameters: PermessageDeflate {
        PermessageDeflate(
            serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
            serverMaxWindowBits: serverMaxWindowBits, clientMaxWindowBits: clientMaxWindowBits)
    }
}

/// A WebSocket connection that a server accepted, and what the client has sent on it so far.
public struct ReceivedWebSocket: Sendable, Equatable, CustomStringConvertible {
    /// A message of the client.
    public enum Message: Sendable, Equatable {
        /// A text message.
        case text(String)
        /// A binary message.
        case data(Data)
    }

    /// The number of the handshake's request, as in ``ReceivedRequest/number``.
    public let request: Int
    /// The subprotocol that was chosen.
    public let subprotocol: String?
    /// Whether messages are compressed.
    public let isCompressed: Bool
    /// The messages, as many bytes as are kept of a request's body at most.
    public internal(set) var messages: [Message] = []
    /// How many messages have arrived, those that were not kept included.
    public internal(set) var messageCount = 0
    /// How many bytes they have.
    public internal(set) var byteCount = 0
    /// The contents of the client's pings.
    public internal(set) var pings: [Data] = []
    /// The contents of the client's pongs.
    public internal(set) var pongs: [Data] = []
    /// Whether a close frame has arrived.
    public internal(set) var hasReceivedClose = false
    /// Its code; `nil` when it has none.
    public internal(set) var closeCode: Int?
    /// Its reason.
    public internal(set) var closeReason = ""
    /// How the client broke the protocol, one sentence.
    public internal(set) var violation: String?
    /// How the connection ended; `nil` while it is open. ``LoopbackServer/Ending/complete``: with a closing handshake.
    public internal(set) var ending: LoopbackServer.Ending?

    /// How much has arrived and how it ended: `WebSocket of request 1: 2 messages, 6 bytes, closed with 1000, complete`.
    public var description: String {
        var parts = ["\(messageCount) \(messageCount == 1 ? "message" : "messages")", "\(byteCount) bytes"]
        if hasReceivedClose { parts.append(closeCode.map { "closed with \($0)" } ?? "closed") }
        parts.append(ending.map { "\($0)" } ?? "open")
        return "WebSocket of request \(request): " + parts.joined(separator: ", ") + (violation.map { ": \($0)" } ?? "")
    }
}
