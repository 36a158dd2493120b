public import Foundation
internal import PurlHTTP

/// What a server does on a connection over which bytes go as they are, without HTTP: for
/// ``LoopbackServer/stream(_:)`` and ``Reply/stream(_:status:upgrade:)``.
///
/// A script is a value. Begin with ``echo`` or ``listening`` and add steps, which happen in their order as soon as the
/// connection is open; each call returns a changed copy:
///
/// ```swift
/// let script = StreamScript.listening
///     .send("220 ready\r\n")
///     .expect("QUIT\r\n")
///     .send("221 bye\r\n")
///     .cut()
/// ```
///
/// Beside its steps, and after them, the server reads what the client sends, and echoes it where that was asked for. When
/// the client has ended its stream and the steps are through, the server ends its own. It closes the connection when a step
/// waits for bytes that the client, having ended its stream, cannot send any more.
public struct StreamScript: Sendable {
    /// One thing to do.
    enum Step: Sendable {
        case bytes(Data)
        case generated(GeneratedContent)
        case receive(Int)
        case expect([UInt8])
        case waitForEnd
        case wait(Gate)
        case deafness(Gate)
        case finish
        case cut
        case reset
    }

    var steps: [Step] = []
    var echoes = false

    /// Sends every byte back.
    public static var echo: StreamScript { StreamScript(echoes: true) }

    /// Says nothing by itself.
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

    /// Sends a text, as UTF-8.
    public func send(_ text: String) -> StreamScript { send(Data(text.utf8)) }

    /// Sends content of any size, which costs no memory.
    public func send(_ content: GeneratedContent) -> StreamScript { adding(.generated(content)) }

    /// Goes on once so many bytes in all have come from the client.
    public func receive(_ count: Int) -> StreamScript { adding(.receive(count)) }

    /// Goes on once these bytes have come, which are what the client has to send next: those it has sent before the step
    /// and that no earlier one expected count. If it sends others, ``ReceivedStream/surprise`` says so and the connection
    /// is reset.
    public func expect(_ bytes: Data) -> StreamScript { adding(.expect([UInt8](bytes))) }

    /// Goes on once this text has come; see ``expect(_:)-(Data)``.
    public func expect(_ text: String) -> StreamScript { expect(Data(text.utf8)) }

    /// Goes on once the client has ended its stream.
    public func waitForEnd() -> StreamScript { adding(.waitForEnd) }

    /// Goes on once the gate is open: a server that stalls. What the client sends is read meanwhile.
    public func wait(at gate: Gate) -> StreamScript { adding(.wait(gate)) }

    /// Reads nothing from the client from here on until the gate opens; the steps after it go on.
    public func notReading(until gate: Gate) -> StreamScript { adding(.deafness(gate)) }

    /// Ends the server's stream, and goes on reading: the connection is half closed. Sends nothing more.
    public func finish() -> StreamScript { adding(.finish) }

    /// Ends the stream and reads nothing more.
    public func cut() -> StreamScript { adding(.cut) }

    /// Resets the connection.
    public func reset() -> StreamScript { adding(.reset) }
}

extension Reply {
    /// Sends a head without content, and does what the script says from there on.
    ///
    /// - Parameters:
    ///   - status: 101 answers a request that asks for another protocol; CONNECT asks for any status from 200 to 299.
    ///   - upgrade: The `Upgrade` field's value, for 101.
    public static func stream(_ script: StreamScript = .echo, status: Int = 101, upgrade: String = "raw") -> Reply {
        var head = "HTTP/1.1 \(status) \(ResponseHead.standardReason(for: status))\r\n"
        if status == 101 { head += "Connection: upgrade\r\nUpgrade: \(upgrade)\r\n" }
        return Reply(.stream(Data((head + "\r\n").utf8), script))
    }

    /// Sends a head as it is, or anything else, and does what the script says from there on.
    public static func stream(_ script: StreamScript, after head: String) -> Reply {
        Reply(.stream(Data(head.utf8), script))
    }
}

extension LoopbackServer {
    /// Connections that are made from now on speak no HTTP: the server does on each what the script says. `nil` makes it
    /// a server for HTTP again.
    public func stream(_ script: StreamScript?) {
        routes.setStream(script)
    }

    /// The connections without HTTP so far, in the order in which they were made.
    public var streams: [ReceivedStream] { recorder.record.read(\.streams) }
}
