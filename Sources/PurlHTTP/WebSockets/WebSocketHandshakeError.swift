/// Why a request is no WebSocket handshake, or a response is no answer to one (RFC 6455 §4.1, §4.2).
package enum WebSocketHandshakeError: Error, Hashable, Sendable {
    case notGET
    case upgradeMissing
    case connectionMissing
    case wrongVersion
    case wrongKey
    case wrongAccept
    /// A subprotocol that was not asked for, or several.
    case unaskedProtocol(String)
    /// Extensions that were not offered, or one twice.
    case unaskedExtension(String)
    /// Parameters that were not offered, or do not exist.
    case badExtension(String)
}

extension WebSocketHandshakeError: CustomStringConvertible {
    /// One sentence for people.
    package var description: String {
        switch self {
        case .notGET: "The request is not an HTTP/1.1 GET."
        case .upgradeMissing: "“Upgrade” does not say “websocket”."
        case .connectionMissing: "“Connection” does not say “upgrade”."
        case .wrongVersion: "“Sec-WebSocket-Version” is not 13."
        case .wrongKey: "“Sec-WebSocket-Key” is not 16 bytes in base64."
        case .wrongAccept: "“Sec-WebSocket-Accept” is missing or does not belong to the key."
        case .unaskedProtocol(let name): "The subprotocol “\(name)” was not asked for."
        case .unaskedExtension(let name): "The extension “\(name)” was not offered."
        case .badExtension(let text): "“\(text)” is no answer to the extensions that were offered."
        }
    }
}
