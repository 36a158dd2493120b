public import Foundation
internal import PurlHTTP

/// What a server does on a WebSocket connection, for ``Reply/webSocket(_:)``.
///
/// A script is a value. Begin with ``echo`` or ``listening`` and add steps, which happen in their order as soon as the
/// connection is open; each call returns a changed copy:
///
/// ```swift
/// let script = WebSocketScript.listening
///     .text("Who is there?")
///     .receive(1)
///     .close(1000, reason: "bye")
/// ```
///
/// Beside its steps, and after them, the server reads what the client sends, answers pings and the closing handshake,
/// and echoes messages where that was asked for. A client that breaks the protocol gets a close frame with the reason.
public struct WebSocketScript: Sendable {
    /// One thing to do.
    enum Step: Sendable {
        case message(WebSocketMessage)
        case control(WebSocketOpcode, [UInt8])
        case bytes([UInt8])
        case receive(Int)
        case wait(Gate)
        case deafness(Gate)
        case cut
        case reset
    }

    var steps: [Step] = []
    var echoes = false
    var subprotocols: [String] = []
    var compression: WebSocketCompression?
    var answersPings = true
    var answersClose = true
    var fragmentSize: Int?
    var maximumMessageSize = 256 << 20

    /// Sends every message back.
    public static var echo: WebSocketScript { WebSocketScript(echoes: true) }

    /// Says nothing by itself.
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
    public func text(_ text: String) -> WebSocketScript { adding(.message(.text([UInt8](text.utf8)))) }

    /// Sends a binary message.
    public func data(_ data: Data) -> WebSocketScript { adding(.message(.binary([UInt8](data)))) }

    /// Sends a ping; of more than 125 bytes the rest is left out.
    public func ping(_ content: Data = Data()) -> WebSocketScript { adding(.control(.ping, [UInt8](content))) }

    /// Sends a pong that nobody asked for, or that answers an older ping.
    public func pong(_ content: Data = Data()) -> WebSocketScript { adding(.control(.pong, [UInt8](content))) }

    /// Begins the closing handshake. A code that must not be sent is left out; see ``bytes(_:)`` to send it nonetheless.
    public func close(_ code: Int? = 1000, reason: String = "") -> WebSocketScript {
        let code = code.flatMap { UInt16(exactly: $0) }
        return adding(.control(.close, WebSocketClose(code: code, reason: [UInt8](reason.utf8)).payload))
    }

    /// Sends bytes as they are: frames that are wrong, or parts of one.
    public func bytes(_ bytes: Data) -> WebSocketScript { adding(.bytes([UInt8](bytes))) }

    /// Goes on once so many messages in all have come from the client.
    public func receive(_ count: Int) -> WebSocketScript { adding(.receive(count)) }

    /// Goes on once the gate is open. What the client sends is read meanwhile.
    public func wait(at gate: Gate) -> WebSocketScript { adding(.wait(gate)) }

    /// Reads nothing from the client from here on until the gate opens; the steps after it go on.
    public func notReading(until gate: Gate) -> WebSocketScript { adding(.deafness(gate)) }

    /// Ends the stream without a close frame.
    public func cut() -> WebSocketScript { adding(.cut) }

    /// Resets the connection.
    public func reset() -> WebSocketScript { adding(.reset) }

    // MARK: Ways

    /// The subprotocols the server speaks, the best first. The first that the client asks for is chosen; by default, none.
    public func subprotocols(_ names: [String]) -> WebSocketScript { changed { $0.subprotocols = names } }

    /// Compresses messages where the client offers that. By default the server does not know compression.
    public func compression(_ compression: WebSocketCompression = WebSocketCompression()) -> WebSocketScript {
        changed { $0.compression = compression }
    }

    /// Leaves pings without an answer.
    public func withoutPongs() -> WebSocketScript { changed { $0.answersPings = false } }

    /// Leaves the client's close frame without an answer, and the connection open.
    public func withoutCloseAnswer() -> WebSocketScript { changed { $0.answersClose = false } }

    /// Sends messages that are not compressed in fragments of so many bytes.
    public func fragments(of size: Int) -> WebSocketScript { changed { $0.fragmentSize = max(1, size) } }

    /// How large a message of the client may be; 256 MiB by default.
    public func maximumMessageSize(_ size: Int) -> WebSocketScript { changed { $0.maximumMessageSize = size } }
}

extension Reply {
    /// Accepts a WebSocket handshake (RFC 6455), then does what the script says. What is no handshake gets a `400`.
    ///
    /// Of the modifiers, those that add or replace fields hold for the handshake's answer: ``field(_:_:)`` sets a cookie
    /// with it, and a replaced `Sec-WebSocket-Accept` makes it a wrong one. To refuse a handshake, reply something else.
    public static func webSocket(_ script: WebSocketScript = .echo) -> Reply {
        Reply(.webSocket(script))
    }
}
