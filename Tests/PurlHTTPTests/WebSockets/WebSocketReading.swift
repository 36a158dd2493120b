import PurlHTTP
import Testing

/// What a reader made of its whole input: what it found, in order, and the error that ended it.
struct WebSocketOutcome: Equatable, Sendable {
    var found: [WebSocketReader.Event] = []
    var error: WebSocketError?
    /// How many bytes had been given when the error came.
    var bytesBeforeError: Int?

    init(_ found: [WebSocketReader.Event] = [], _ error: WebSocketError? = nil) {
        self.found = found
        self.error = error
    }
}

/// Reads everything in the pieces.
func webSocketEvents(
    _ pieces: [[UInt8]], role: WebSocketRole = .client, limit: Int = 1 << 20, compression: PermessageDeflate? = nil
) -> WebSocketOutcome {
    var reader = WebSocketReader(role: role, maximumMessageSize: limit, compression: compression)
    var outcome = WebSocketOutcome()
    var given = 0
    do throws(WebSocketError) {
        for piece in pieces {
            given += piece.count
            var offset = 0
            while let event = try reader.next(piece.span.bytes, from: &offset) { outcome.found.append(event) }
        }
    } catch {
        outcome.error = error
        outcome.bytesBeforeError = given
    }
    return outcome
}

/// A frame as a test wants it, right or wrong.
func frame(
    _ opcode: UInt8, _ payload: [UInt8] = [], fin: Bool = true, rsv: UInt8 = 0, mask: [UInt8]? = nil
) -> [UInt8] {
    var bytes: [UInt8] = [(fin ? 0x80 : 0) | rsv << 4 | opcode]
    let masked: UInt8 = mask == nil ? 0 : 0x80
    switch payload.count {
    case 0...125: bytes.append(masked | UInt8(payload.count))
    case 126...65_535: bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default: bytes += [masked | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    guard let mask else { return bytes + payload }
    return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}

/// What a writer makes of a message, with the same key for every frame.
func written(
    _ payload: [UInt8], isText: Bool = false, by writer: inout WebSocketWriter, key: UInt32 = 0x0403_0201
) -> [UInt8] {
    var output: [UInt8] = []
    var position = 0
    while !writer.write(payload.span.bytes, isText: isText, from: &position, makeKey: { key }, into: &output) {}
    return output
}

extension WebSocketReader.Event {
    static func text(_ text: String) -> WebSocketReader.Event { .message(.text(text.bytes)) }
    static func binary(_ bytes: [UInt8]) -> WebSocketReader.Event { .message(.binary(bytes)) }
}
