/// Writes messages as frames (RFC 6455 §6.1), a portion at a time, so that a large message needs little memory.
///
/// A message that is not compressed is one frame. A compressed one becomes a frame for each portion that is compressed
/// at once, since the length of a frame stands before it.
package struct WebSocketWriter: Sendable {
    /// How many bytes of a message are masked or compressed at once.
    package static let portion = 65_536
    /// The size from which messages are compressed: shorter ones would grow.
    private static let worthCompressing = 16

    private let role: WebSocketRole
    private let compression: PermessageDeflate?
    private var encoder: DeflateEncoder?
    /// The masking key of the current frame.
    private var key: UInt32?
    private var compressed: [UInt8] = []
    private var isCompressing = false

    /// A writer for one end of a connection.
    ///
    /// - Parameter compression: What both sides have agreed on.
    package init(role: WebSocketRole, compression: PermessageDeflate? = nil) {
        self.role = role
        self.compression = compression
    }

    /// Appends the next portion of a message, from `position` on; true when that was the last.
    ///
    /// - Parameters:
    ///   - position: 0 at first, then as it was left.
    ///   - makeKey: A new random number, called once for each frame of a client (RFC 6455 §5.3).
    package mutating func write(
        _ payload: RawSpan, isText: Bool, from position: inout Int, makeKey: () -> UInt32, into output: inout [UInt8]
    ) -> Bool {
        let opcode: WebSocketOpcode = position > 0 ? .continuation : isText ? .text : .binary
        if position == 0 { isCompressing = compression != nil && payload.byteCount >= WebSocketWriter.worthCompressing }
        let end = position + min(WebSocketWriter.portion, payload.byteCount - position)
        let piece = payload.extracting(position..<end)
        let isLast = end == payload.byteCount
        if isCompressing {
            compress(piece, isLast: isLast)
            key = newKey(makeKey)
            WebSocketFrameHeader(
                opcode, length: Int64(compressed.count), isFinal: isLast, isCompressed: position == 0, maskingKey: key
            ).encode(into: &output)
            append(RawSpan(_elements: compressed.span), offset: 0, to: &output)
        } else {
            if position == 0 {
                key = newKey(makeKey)
                WebSocketFrameHeader(opcode, length: Int64(payload.byteCount), maskingKey: key).encode(into: &output)
            }
            append(piece, offset: position, to: &output)
        }
        position = end
        return isLast
    }

    /// Whether a frame is complete after a portion that was not the last, so that a control frame may come between.
    package var isBetweenFrames: Bool { isCompressing }

    /// Appends a control frame; content beyond 125 bytes is left out.
    package mutating func write(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], makeKey: () -> UInt32, into output: inout [UInt8]
    ) {
        let content = RawSpan(_elements: payload.span).extracting(first: min(125, payload.count))
        let own = newKey(makeKey)
        WebSocketFrameHeader(opcode, length: Int64(content.byteCount), maskingKey: own).encode(into: &output)
        let start = output.count
        output.append(Span(_bytes: content), 0..<content.byteCount)
        if let own { WebSocketMask.apply(own, offset: 0, to: &output, from: start) }
    }

    private func newKey(_ makeKey: () -> UInt32) -> UInt32? {
        switch role {
        case .client: makeKey()
        case .server: nil
        }
    }

    private func append(_ piece: RawSpan, offset: Int, to output: inout [UInt8]) {
        let start = output.count
        output.append(Span(_bytes: piece), 0..<piece.byteCount)
        if let key { WebSocketMask.apply(key, offset: offset, to: &output, from: start) }
    }

    private mutating func compress(_ piece: RawSpan, isLast: Bool) {
        compressed.removeAll(keepingCapacity: true)
        var encoder = encoder ?? DeflateEncoder(windowBits: compression?.windowBits(of: role) ?? 15)
        self.encoder = nil
        encoder.encode(piece, into: &compressed)
        guard isLast else {
            self.encoder = encoder
            return
        }
        encoder.flush(into: &compressed)
        // RFC 7692 §7.2.1: the last four bytes are always the same and are left out.
        compressed.removeLast(4)
        if compression?.keepsWindow(of: role) == true { self.encoder = encoder }
    }
}
