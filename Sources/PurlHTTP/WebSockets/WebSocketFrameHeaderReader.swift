/// Reads frame headers from input that comes in pieces, and refuses each at its first wrong byte.
struct WebSocketFrameHeaderReader: Sendable {
    private enum State {
        case first
        case second(WebSocketFrameHeader)
        /// - Parameter missing: How many bytes of the length are still to come; `minimum`: what it has to be at least.
        case length(WebSocketFrameHeader, isMasked: Bool, missing: Int, value: UInt64, minimum: UInt64)
        case key(WebSocketFrameHeader, count: UInt32, value: UInt32)
    }

    private let role: WebSocketRole
    private let allowsCompression: Bool
    private var state = State.first

    /// A reader for one end; `allowsCompression`: the first bit reserved has been given a meaning.
    init(role: WebSocketRole, allowsCompression: Bool) {
        self.role = role
        self.allowsCompression = allowsCompression
    }

    /// Takes bytes from `offset` on. nil when the header is not complete yet.
    mutating func next(
        _ input: Span<UInt8>, from offset: inout Int
    ) throws(WebSocketError) -> WebSocketFrameHeader? {
        while offset < input.count {
            let byte = input[offset]
            offset += 1
            if let header = try take(byte) {
                state = .first
                return header
            }
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) throws(WebSocketError) -> WebSocketFrameHeader? {
        switch state {
        case .first:
            state = .second(try begin(byte))
            return nil
        case .second(let header):
            return try takeSecond(byte, header)
        case .length(var header, let isMasked, let missing, let value, let minimum):
            let value = value << 8 | UInt64(byte)
            guard missing == 1 else {
                state = .length(header, isMasked: isMasked, missing: missing - 1, value: value, minimum: minimum)
                return nil
            }
            // RFC 6455 §5.2: the most significant bit is 0, and the shortest form is used.
            guard let length = Int64(exactly: value) else { throw .lengthTooLarge }
            guard value >= minimum else { throw .lengthNotShortest }
            header.length = length
            return afterLength(header, isMasked)
        case .key(var header, let count, let value):
            let value = value | UInt32(byte) << (8 * count)
            guard count == 3 else {
                state = .key(header, count: count + 1, value: value)
                return nil
            }
            header.maskingKey = value
            return header
        }
    }

    private func begin(_ byte: UInt8) throws(WebSocketError) -> WebSocketFrameHeader {
        guard let opcode = WebSocketOpcode(rawValue: byte & 0x0F) else { throw .reservedOpcode(byte & 0x0F) }
        let isCompressed = byte & 0x40 != 0
        // RFC 7692 §6: the bit stands at the beginning of a message alone.
        guard byte & 0x30 == 0, !isCompressed || (allowsCompression && !opcode.isControl && opcode != .continuation)
        else { throw .reservedBits }
        let isFinal = byte & 0x80 != 0
        guard isFinal || !opcode.isControl else { throw .fragmentedControlFrame }
        return WebSocketFrameHeader(opcode, length: 0, isFinal: isFinal, isCompressed: isCompressed)
    }

    private mutating func takeSecond(
        _ byte: UInt8, _ header: WebSocketFrameHeader
    ) throws(WebSocketError) -> WebSocketFrameHeader? {
        var header = header
        let isMasked = byte & 0x80 != 0
        switch role {
        case .client: guard !isMasked else { throw .maskedFrame }
        case .server: guard isMasked else { throw .unmaskedFrame }
        }
        let length = byte & 0x7F
        guard length <= 125 || !header.opcode.isControl else { throw .controlFrameTooLong }
        switch length {
        case 126:
            state = .length(header, isMasked: isMasked, missing: 2, value: 0, minimum: 126)
            return nil
        case 127:
            state = .length(header, isMasked: isMasked, missing: 8, value: 0, minimum: 0x1_0000)
            return nil
        default:
            header.length = Int64(length)
            return afterLength(header, isMasked)
        }
    }

    private mutating func afterLength(_ header: WebSocketFrameHeader, _ isMasked: Bool) -> WebSocketFrameHeader? {
        guard isMasked else { return header }
        state = .key(header, count: 0, value: 0)
        return nil
    }
}
