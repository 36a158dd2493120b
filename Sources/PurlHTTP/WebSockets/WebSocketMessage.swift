/// A whole message.
package enum WebSocketMessage: Sendable, Hashable {
    /// Valid UTF-8.
    case text([UInt8])
    case binary([UInt8])

    /// How many bytes it has.
    package var count: Int {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes.count
        }
    }
}
