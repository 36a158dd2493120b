/// What stands before a frame's content (RFC 6455 §5.2).
package struct WebSocketFrameHeader: Sendable, Hashable {
    /// It is the last fragment, or the only one.
    package var isFinal: Bool
    /// RSV1: the message that begins here is compressed (RFC 7692 §6).
    package var isCompressed: Bool
    package var opcode: WebSocketOpcode
    /// The four bytes of the key, the first one lowest; nil: the content is not masked.
    package var maskingKey: UInt32?
    /// The content's length in bytes, not negative.
    package var length: Int64

    package init(
        _ opcode: WebSocketOpcode, length: Int64, isFinal: Bool = true, isCompressed: Bool = false,
        maskingKey: UInt32? = nil
    ) {
        self.opcode = opcode
        self.length = length
        self.isFinal = isFinal
        self.isCompressed = isCompressed
        self.maskingKey = maskingKey
    }

    /// Appends the header: 2 to 14 bytes, the length in its shortest form.
    package func encode(into bytes: inout [UInt8]) {
        bytes.append(opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0))
        let mask: UInt8 = maskingKey == nil ? 0 : 0x80
        let length = UInt64(max(0, length))
        switch length {
        case 0...125:
            bytes.append(UInt8(length) | mask)
        case 126...0xFFFF:
            bytes.append(126 | mask)
            WebSocketFrameHeader.append(length, bytes: 2, to: &bytes)
        default:
            bytes.append(127 | mask)
            WebSocketFrameHeader.append(length, bytes: 8, to: &bytes)
        }
        if let maskingKey {
            WebSocketFrameHeader.append(UInt64(maskingKey.byteSwapped), bytes: 4, to: &bytes)
        }
    }

    private static func append(_ number: UInt64, bytes count: UInt64, to bytes: inout [UInt8]) {
        for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - place)))) }
    }
}
