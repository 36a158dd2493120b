public import Foundation

/// What a server does on a connection without HTTP: for
/// ``LoopbackServer/stream(_:)`` and ``Reply/stream(_:status:upgrade:)``.
///
/// A script is a value. Begin with ``echo`` or ``listening`` and add steps, which run in order as soon as the connection
/// is open; each call returns a changed copy:
///
/// ```swift
/// let script = StreamScript.listening
///     .send("220 ready\r\n")
///     .expect("QUIT\r\n")
///     .send("221 bye\r\n")
///     .cut()
/// ```
///
/// During the steps, and after them, the server reads what the client sends, and with ``echo`` sends it back. When the
/// client has ended its stream and the last step is done, the server ends its own. It closes the connection when a step
/// waits for bytes that the client, having ended its stream, can no longer send.
public struct StreamScript: Sendable {
    /// One thing to do next.
    enum Step: Sendable {
        case bytes(Data)
        case generated(GeneratedContent)
        case receive(Int)
        case expect([UInt8])
        case waitForEnd
        case wait(ServerGate)
        case pauseReading(ServerGate)
        case finish
        case cut
        case reset
    }

    private(set) var steps: [Step] = []
    /// Whether every byte is sent back.
    let echoes: Bool

    /// A script that sends every byte back.
    public static var echo: StreamScript { StreamScript(echoes: true) }

    /// A script that sends nothing but its steps.
    public static var listening: StreamScript { StreamScript(echoes: false) }

    private init(echoes: Bool) {
        self.echoes = echoes
    }

    private func adding(_ step: Step) -> StreamScript {
        var script = self
        script.steps.append(step)
        return script
    }

    /// Sends bytes.
    public func send(_ bytes: Data) -> StreamScript { adding(.bytes(bytes)) }

    /// Sends text.
    ///
    /// - Parameter text: The text, sent as UTF-8.
    public func send(_ text: String) -> StreamScript { send(Data(text.utf8)) }

    /// Sends content of any size, which takes no memory.
    public func send(_ content: GeneratedContent) -> StreamScript { adding(.generated(content)) }

    /// Waits until the client has sent so many bytes in all.
    ///
    /// - Parameter count: How many bytes.
    public func receive(_ count: Int) -> StreamScript { adding(.receive(count)) }

    /// Waits for the bytes that the client has to send next. Bytes that arrived before this step, and that no earlier step
    /// expected, count. If the client sends others, they are in ``ReceivedStream/surprise`` and the connection is reset.
    public func expect(_ bytes: Data) -> StreamScript { adding(.expect([UInt8](bytes))) }

    /// Waits for the text that the client has to send next; see ``expect(_:)-(Data)``.
    ///
    /// - Parameter text: The text, compared as UTF-8.
    public func expect(_ text: String) -> StreamScript { expect(Data(text.utf8)) }

    /// Waits until the client has ended its stream.
    public func waitForEnd() -> StreamScript { adding(.waitForEnd) }

    /// Waits until a gate opens: a server that stalls. What the client sends is read meanwhile.
    public func wait(at gate: ServerGate) -> StreamScript { adding(.wait(gate)) }

    /// Stops reading from the client until a gate opens. The steps after this one run meanwhile.
    public func notReading(until gate: ServerGate) -> StreamScript { adding(.pauseReading(gate)) }

    /// Ends the server's stream and continues to read: the connection is half closed. Later steps send nothing.
    public func finish() -> StreamScript { adding(.finish) }

    /// Closes the connection.
    public func cut() -> StreamScript { adding(.cut) }

    /// Resets the connection.
    public func reset() -> StreamScript { adding(.reset) }
}

/// A connection without HTTP, and what the client has sent on it so far.
public struct ReceivedStream: Sendable, Equatable, CustomStringConvertible {
    /// The number of the request that it began with, as in ``ReceivedRequest/number``; `nil` when it began without one.
    public let request: Int?
    /// The received bytes, as many as are kept of a request's body at most.
    public var bytes: Data { pieces.reduce(into: Data()) { $0 += $1 } }
    /// How many bytes have arrived, those that were not kept included.
    public internal(set) var byteCount = 0
    /// Whether the client has ended its stream.
    public internal(set) var hasEnded = false
    /// What the client sent in place of what a step expected, one sentence.
    public internal(set) var surprise: String?
    /// How the connection ended; `nil` while it is open. ``LoopbackServer/Ending/complete``: both sides have ended their
    /// streams.
    public internal(set) var ending: LoopbackServer.Ending?

    /// The bytes as they arrived. In pieces, so that a copy of the record does not make the next append copy them all.
    var pieces: [Data] = []

    init(request: Int?) {
        self.request = request
    }

    /// The bytes as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// How much has arrived and how it ended: `stream of request 1: 12 bytes received, complete`.
    public var description: String {
        let name = request.map { "stream of request \($0)" } ?? "stream"
        let state = ending.map { "\($0)" } ?? "open"
        return "\(name): \(byteCount) bytes received, \(state)" + (surprise.map { ": \($0)" } ?? "")
    }
}
