import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What can end a WebSocket task, beside what can end every transfer.
enum WebSocketFailure: Error {
    /// The server answered the handshake with something else.
    case refused(status: Int)
    /// The server's response does not answer this handshake.
    case handshake(WebSocketHandshakeError)
    /// The proxy did not open a way to the server.
    case tunnelRefused(status: Int)
    /// The server broke the protocol, or sent a message that is too large.
    case violation(WebSocketError)
    /// The connection ended without a close frame.
    case lost(SystemError?)
    /// The connection was closed in order, and takes no further messages.
    case closed
    /// The server did not answer a close frame.
    case closeUnanswered

    var explanation: (code: URLError.Code, sentence: String, underlying: (any Error)?) {
        switch self {
        case .refused(let status):
            (.badServerResponse, "The server refused the WebSocket handshake with the status \(status).", nil)
        case .handshake(let error):
            (.badServerResponse, "The server's answer to the WebSocket handshake is not valid: \(error)", error)
        case .tunnelRefused(let status): TunnelFailure.explanation(ofStatus: status)
        case .violation(let error):
            (Self.code(of: error), "The server's WebSocket messages cannot be read: \(error)", error)
        case .lost(let error):
            (.networkConnectionLost, "The WebSocket connection was lost.", error ?? POSIXError(.ECONNRESET))
        case .closed:
            (.networkConnectionLost, "The WebSocket connection is closed.", POSIXError(.ENOTCONN))
        case .closeUnanswered:
            (.timedOut, "The server did not answer when the WebSocket connection was closed.", nil)
        }
    }

    private static func code(of error: WebSocketError) -> URLError.Code {
        switch error {
        case .messageTooBig: .dataLengthExceedsMaximum
        case .invalidText, .invalidCloseReason: .cannotDecodeRawData
        case .compression, .compressionIncomplete: .cannotDecodeContentData
        case .reservedBits, .reservedOpcode, .fragmentedControlFrame, .controlFrameTooLong, .maskedFrame,
            .unmaskedFrame, .lengthNotShortest, .lengthTooLarge, .unexpectedContinuation, .missingContinuation,
            .closeTooShort, .invalidCloseCode:
            .badServerResponse
        }
    }
}
