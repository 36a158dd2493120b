/// The header of a frame (RFC 6455 §5.2).
package struct WebSocketFrameHeader: Sendable, Hashable {
    /// Whether the frame is the last fragment, or the only one.
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

/// The type of a frame (RFC 6455 §5.2). The other ten values are reserved.
package enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Whether this is a control frame: short, in one piece, allowed between the fragments of a message (RFC 6455 §5.5).
    package var isControl: Bool {
        switch self {
        case .close, .ping, .pong: true
        case .continuation, .text, .binary: false
        }
    }
}

/// Which end of a WebSocket connection this is. A client masks what it sends, a server must not (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
    case client
    case server
}

/// Reads frame headers from input that comes in pieces, and rejects each at its first wrong byte.
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

    /// A reader for one end; `allowsCompression`: an extension defines the first reserved bit.
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

/// The masking of a client's frames (RFC 6455 §5.3). Applying it twice undoes it.
package enum WebSocketMask {
    /// Masks the bytes of `array` from `start` on in place.
    ///
    /// - Parameters:
    ///   - key: The four bytes of the key, the first one lowest.
    ///   - offset: How many bytes of the frame's content come before these.
    package static func apply(_ key: UInt32, offset: Int, to array: inout [UInt8], from start: Int) {
        // The key, rotated so that it begins with the byte for the first of these, twice.
        let rotation = UInt32(truncatingIfNeeded: offset & 3) &* 8
        let rotated = rotation == 0 ? key : key &>> rotation | key &<< (32 &- rotation)
        var storage = array.mutableSpan
        var bytes = MutableRawSpan(_elements: &storage)
        apply(UInt64(rotated) &<< 32 | UInt64(rotated), to: &bytes, from: start)
    }

    private static func apply(_ word: UInt64, to bytes: inout MutableRawSpan, from start: Int) {
        var position = start
        let count = bytes.byteCount
        while position &+ 32 <= count {
            let first = bytes.bytes.word(at: position) ^ word
            let second = bytes.bytes.word(at: position &+ 8) ^ word
            let third = bytes.bytes.word(at: position &+ 16) ^ word
            let fourth = bytes.bytes.word(at: position &+ 24) ^ word
            bytes.storeBytes(of: first.littleEndian, toByteOffset: position, as: UInt64.self)
            bytes.storeBytes(of: second.littleEndian, toByteOffset: position &+ 8, as: UInt64.self)
            bytes.storeBytes(of: third.littleEndian, toByteOffset: position &+ 16, as: UInt64.self)
            bytes.storeBytes(of: fourth.littleEndian, toByteOffset: position &+ 24, as: UInt64.self)
            position &+= 32
        }
        var rest = word
        while position < count {
            let byte = bytes.bytes.load(at: position, as: UInt8.self)
            bytes.storeBytes(of: byte ^ UInt8(truncatingIfNeeded: rest), toByteOffset: position, as: UInt8.self)
            rest = rest &>> 8 | rest &<< 56
            position &+= 1
        }
    }
}
