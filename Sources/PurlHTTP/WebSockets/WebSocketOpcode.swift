/// What a frame is (RFC 6455 §5.2). The other ten values are reserved.
package enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Control frames are short, in one piece, and may come between the fragments of a message (RFC 6455 §5.5).
    package var isControl: Bool {
        switch self {
        case .close, .ping, .pong: true
        case .continuation, .text, .binary: false
        }
    }
}
