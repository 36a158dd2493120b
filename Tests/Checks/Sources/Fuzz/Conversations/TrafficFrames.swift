import PurlHTTP

@testable import Purl

/// The frames that a server sent: read whole, by the parser alone.
struct ServerFrames {
    private(set) var messages: [WebSocketMessage] = []
    private(set) var pings: [[UInt8]] = []
    /// The numbers of the pings that were answered.
    private(set) var pongs: [UInt64] = []
    private(set) var close: WebSocketClose?
    private(set) var fault: WebSocketError?

    init(_ bytes: [UInt8], _ agreement: WebSocketHandshake.Agreement?, _ maximumMessageSize: Int) {
        var reader = WebSocketReader(
            role: .client, maximumMessageSize: maximumMessageSize, compression: agreement?.compression)
        var offset = 0
        do throws(WebSocketError) {
            while close == nil, let event = try reader.next(bytes.span.bytes, from: &offset) {
                switch event {
                case .message(let message): messages.append(message)
                case .ping(let content): pings.append(content)
                case .pong(let content):
                    if content.count == 8 { pongs.append(content.reduce(0) { $0 << 8 | UInt64($1) }) }
                case .close(let close): self.close = close
                }
            }
        } catch {
            fault = error
        }
    }
}

/// The frames that a client sent: read whole, by the parser alone.
struct ClientFrames {
    private(set) var events: [WebSocketReader.Event] = []
    private(set) var fault: WebSocketError?
    /// A message or a frame has no end.
    let isCut: Bool

    init(_ bytes: [UInt8], _ agreement: WebSocketHandshake.Agreement) {
        var reader = WebSocketReader(
            role: .server, maximumMessageSize: .max, compression: agreement.compression)
        var offset = 0
        do throws(WebSocketError) {
            while let event = try reader.next(bytes.span.bytes, from: &offset) { events.append(event) }
        } catch {
            fault = error
        }
        isCut = reader.hasPartialMessage
    }
}
