import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// The opening of a WebSocket (RFC 6455 §4.1): what a request asks of the server, and whether its answer agrees.
@NetworkActor
final class WebSocketOpening {
    /// What the connection carries once the server has agreed.
    let conversation: WebSocketConversation
    private let handshake: WebSocketHandshake
    private let transfer: Transfer

    /// - Parameter head: The request that asks; the fields of the handshake are added to it.
    init(of conversation: WebSocketConversation, for transfer: Transfer, addingTo head: inout RequestHead) {
        let nonce = (0..<2).flatMap { _ in withUnsafeBytes(of: Randomness().next()) { Array($0) } }
        self.conversation = conversation
        self.transfer = transfer
        handshake = WebSocketHandshake(nonce: nonce, addingTo: &head)
    }

    /// Why any other response than a switch of protocols is a failure.
    nonisolated func refusal(status: Int) -> TransferFailure { .webSocket(.refused(status: status)) }

    /// What the server has agreed to by switching protocols.
    func agreement(in head: ResponseHead) throws(WebSocketHandshakeError) -> WebSocketHandshake.Agreement {
        try handshake.check(head)
    }

    /// The server has agreed: calls `didOpenWithProtocol`, and begins the conversation.
    ///
    /// - Parameters:
    ///   - response: The switch of protocols, as users see it.
    ///   - url: Where the WebSocket is.
    ///   - bytes: What has arrived after the response.
    func complete(
        _ agreement: WebSocketHandshake.Agreement, _ response: HTTPURLResponse, from url: URL,
        over transport: any LoopTransport,
        received bytes: [UInt8]
    ) {
        let calls = transfer.calls
        calls.task.setResponse(response, received: 0, expected: NSURLSessionTransferSizeUnknown)
        calls.callWebSocketDelegate(.didOpenWithProtocol, .opened(subprotocol: agreement.subprotocol)) {
            $0.urlSession($1, webSocketTask: $2, didOpenWithProtocol: agreement.subprotocol)
        }
        conversation.isPaused = transfer.isHeld
        conversation.open(
            transport, agreement, received: bytes, at: url, limits: transfer.session.pool.settings.rates,
            trace: calls.trace, for: WebSocketUpgrade(transfer))
    }
}
