/// Which end of a WebSocket connection this is. A client masks what it sends, a server must not (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
    case client
    case server
}
