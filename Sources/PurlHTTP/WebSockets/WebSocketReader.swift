/// Reads messages from the bytes a peer sends (RFC 6455 §5, §6.2), from input that comes in pieces.
///
/// Theory of operation: a frame's header is read and checked first, then its content is taken as it comes. The content of
/// a message is appended to `message`: unmasked, decompressed, and checked at once, so that a broken text or a message
/// that is too big fails at its first wrong byte, whatever length the header declares. Control frames are kept apart,
/// since they may come between the fragments of a message. After an error the reader cannot be used further.
package struct WebSocketReader: Sendable {
    /// One message or control frame.
    package enum Event: Sendable, Hashable {
        case message(WebSocketMessage)
        case ping([UInt8])
        case pong([UInt8])
        case close(WebSocketClose)
    }

    /// The message whose fragments are being read.
    private struct Unfinished {
        let isText: Bool
        let isCompressed: Bool
        var bytes: [UInt8] = []
        var validator = UTF8Validator()
    }

    /// How many bytes are allocated at most because a header declares them.
    private static let trusted: Int64 = 1 << 16
    /// The bytes that the sender left out (RFC 7692 §7.2.2).
    private static let flush: [UInt8] = [0, 0, 0xFF, 0xFF]

    /// How many bytes a message, decoded, may have. A change applies to the bytes taken after it.
    package var maximumMessageSize: Int

    private var headers: WebSocketFrameHeaderReader
    private var frame: WebSocketFrameHeader?
    /// How much of the frame's content has been taken.
    private var position: Int64 = 0
    private var message: Unfinished?
    private var control: [UInt8] = []
    /// Bytes to decompress, with the mask removed.
    private var unmasked: [UInt8] = []
    private let keepsWindow: Bool
    private let mayBeCompressed: Bool
    private var inflater: DeflateDecoder?

    /// A reader for one end of a connection.
    ///
    /// - Parameter compression: What both sides have agreed on.
    package init(role: WebSocketRole, maximumMessageSize: Int, compression: PermessageDeflate? = nil) {
        self.maximumMessageSize = maximumMessageSize
        headers = WebSocketFrameHeaderReader(role: role, allowsCompression: compression != nil)
        mayBeCompressed = compression != nil
        keepsWindow = compression?.peerKeepsWindow(of: role) ?? false
    }

    /// Whether a message or a frame has begun and not ended.
    package var hasPartialMessage: Bool { message != nil || frame != nil }

    /// Takes bytes from `offset` on and moves it past what it took. nil when all are taken and no event is complete.
    package mutating func next(_ input: RawSpan, from offset: inout Int) throws(WebSocketError) -> Event? {
        while true {
            if frame == nil {
                guard let header = try headers.next(Span(_bytes: input), from: &offset) else { return nil }
                try begin(header)
            }
            guard let header = frame else { return nil }
            let count = Int(min(header.length - position, Int64(input.byteCount - offset)))
            if count > 0 {
                try take(input.extracting(offset..<(offset + count)), of: header)
                offset += count
                position += Int64(count)
            }
            guard position == header.length else { return nil }
            frame = nil
            if let event = try end(header) { return event }
        }
    }

    // MARK: Frames

    private mutating func begin(_ header: WebSocketFrameHeader) throws(WebSocketError) {
        switch header.opcode {
        case .text, .binary:
            guard message == nil else { throw .missingContinuation }
            message = Unfinished(isText: header.opcode == .text, isCompressed: header.isCompressed)
        case .continuation:
            guard message != nil else { throw .unexpectedContinuation }
        case .close, .ping, .pong:
            control.removeAll(keepingCapacity: true)
        }
        if !header.opcode.isControl, message?.isCompressed == false {
            let count = message?.bytes.count ?? 0
            guard header.length <= Int64(maximumMessageSize) - Int64(count) else {
                throw .messageTooBig(limit: maximumMessageSize)
            }
            if count == 0 { message?.bytes.reserveCapacity(Int(min(header.length, Self.trusted))) }
        }
        frame = header
        position = 0
    }

    private mutating func take(_ bytes: RawSpan, of header: WebSocketFrameHeader) throws(WebSocketError) {
        let offset = Int(truncatingIfNeeded: position & 3)
        if header.opcode.isControl {
            let start = control.count
            control.append(Span(_bytes: bytes), 0..<bytes.byteCount)
            if let key = header.maskingKey { WebSocketMask.apply(key, offset: offset, to: &control, from: start) }
        } else if message?.isCompressed == true {
            guard let key = header.maskingKey else { return try decompress(bytes) }
            unmasked.removeAll(keepingCapacity: true)
            unmasked.append(Span(_bytes: bytes), 0..<bytes.byteCount)
            WebSocketMask.apply(key, offset: offset, to: &unmasked, from: 0)
            let piece = unmasked
            try decompress(RawSpan(_elements: piece.span))
        } else {
            let start = message?.bytes.count ?? 0
            message?.bytes.append(Span(_bytes: bytes), 0..<bytes.byteCount)
            if let key = header.maskingKey { unmask(key, offset, from: start) }
            try check(from: start)
        }
    }

    private mutating func unmask(_ key: UInt32, _ offset: Int, from start: Int) {
        guard var taken = message else { return }
        message = nil
        WebSocketMask.apply(key, offset: offset, to: &taken.bytes, from: start)
        message = taken
    }

    private mutating func end(_ header: WebSocketFrameHeader) throws(WebSocketError) -> Event? {
        switch header.opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        case .close: return .close(try WebSocketClose(payload: control))
        case .continuation, .text, .binary: break
        }
        guard header.isFinal else { return nil }
        if message?.isCompressed == true { try finishDecompressing() }
        guard let whole = message else { return nil }
        message = nil
        if whole.isText {
            guard whole.validator.isComplete else { throw .invalidText }
            return .message(.text(whole.bytes))
        }
        return .message(.binary(whole.bytes))
    }

    /// Checks the bytes of the message from `start` on, which are new.
    private mutating func check(from start: Int) throws(WebSocketError) {
        guard let message else { return }
        guard message.bytes.count <= maximumMessageSize else { throw .messageTooBig(limit: maximumMessageSize) }
        guard message.isText else { return }
        var validator = message.validator
        guard validator.take(RawSpan(_elements: message.bytes.span).extracting(droppingFirst: start)) else {
            throw .invalidText
        }
        self.message?.validator = validator
    }

    // MARK: Compression

    private mutating func decompress(_ bytes: RawSpan) throws(WebSocketError) {
        guard var taken = message else { return }
        // Taken out and put back, so that appending does not copy it.
        message = nil
        let start = taken.bytes.count
        var decoder = inflater ?? DeflateDecoder()
        inflater = nil
        do throws(DecodeError) {
            var rest = bytes
            while true {
                // One byte more than allowed shows that the message is too big.
                let room = max(0, maximumMessageSize - taken.bytes.count)
                let limit = room == Int.max ? room : room + 1
                let count = try decoder.decode(rest, into: &taken.bytes, limit: limit)
                rest = rest.extracting(droppingFirst: count)
                if decoder.stoppedAtLimit { throw .truncated }
                guard !rest.isEmpty else { break }
                // RFC 7692 §7.2.3.4: a last block may be followed by others.
                decoder.continueAfterEnd()
            }
        } catch {
            if taken.bytes.count > maximumMessageSize { throw .messageTooBig(limit: maximumMessageSize) }
            throw .compression(error)
        }
        inflater = decoder
        message = taken
        try check(from: start)
    }

    private mutating func finishDecompressing() throws(WebSocketError) {
        inflater?.continueAfterEnd()
        try decompress(RawSpan(_elements: WebSocketReader.flush.span))
        guard inflater?.isBetweenBlocks == true else { throw .compressionIncomplete }
        // RFC 7692 §7.1.1: without context takeover later messages do not refer to this one.
        if !keepsWindow { inflater = nil }
    }
}

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
