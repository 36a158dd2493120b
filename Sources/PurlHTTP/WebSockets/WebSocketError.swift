/// Why bytes from a peer break the WebSocket protocol or a limit. The connection has to be failed (RFC 6455 §7.1.7).
package enum WebSocketError: Error, Hashable, Sendable {
    /// One of RSV1 to RSV3 is set without an extension that defines it.
    case reservedBits
    case reservedOpcode(UInt8)
    case fragmentedControlFrame
    case controlFrameTooLong
    /// A server's frame with a mask.
    case maskedFrame
    /// A client's frame without one.
    case unmaskedFrame
    /// A length that takes more bytes than it needs.
    case lengthNotShortest
    /// A length of 2 to the power of 63 or more.
    case lengthTooLarge
    /// A continuation frame without a message to continue.
    case unexpectedContinuation
    /// A new message before the last fragment of the previous one.
    case missingContinuation
    case invalidText
    /// The message, decoded, has more bytes than this.
    case messageTooBig(limit: Int)
    /// A close frame with one byte: half a code.
    case closeTooShort
    case invalidCloseCode(UInt16)
    case invalidCloseReason
    /// The message's compression is damaged.
    case compression(DecodeError)
    /// A compressed message stops in the middle of a block.
    case compressionIncomplete

    /// The code of the close frame that reports this error (RFC 6455 §7.4.1).
    package var closeCode: UInt16 {
        switch self {
        case .reservedBits, .reservedOpcode, .fragmentedControlFrame, .controlFrameTooLong, .maskedFrame,
            .unmaskedFrame, .lengthNotShortest, .lengthTooLarge, .unexpectedContinuation, .missingContinuation,
            .closeTooShort, .invalidCloseCode:
            1002
        case .invalidText, .invalidCloseReason, .compression, .compressionIncomplete:
            1007
        case .messageTooBig:
            1009
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    /// One sentence for people.
    package var description: String {
        switch self {
        case .reservedBits: "A frame has reserved bits set."
        case .reservedOpcode(let opcode): "A frame has the reserved opcode \(opcode)."
        case .fragmentedControlFrame: "A control frame is fragmented."
        case .controlFrameTooLong: "A control frame has more than 125 bytes."
        case .maskedFrame: "A frame of the server is masked."
        case .unmaskedFrame: "A frame of the client is not masked."
        case .lengthNotShortest: "The length of a frame is not written in its shortest form."
        case .lengthTooLarge: "The length of a frame does not fit in 63 bits."
        case .unexpectedContinuation: "A fragment continues no message."
        case .missingContinuation: "A message begins before the last one has ended."
        case .invalidText: "A text message is not valid UTF-8."
        case .messageTooBig(let limit): "A message has more than \(limit) bytes."
        case .closeTooShort: "A close frame has one byte."
        case .invalidCloseCode(let code): "A close frame has the code \(code), which must not be sent."
        case .invalidCloseReason: "The reason in a close frame is not valid UTF-8."
        case .compression(let error): "A message cannot be decompressed: \(error)"
        case .compressionIncomplete: "A compressed message stops before its end."
        }
    }
}
