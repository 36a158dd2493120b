/// The content of a close frame (RFC 6455 §5.5.1, §7.4).
package struct WebSocketClose: Sendable, Hashable {
    /// The longest reason: a control frame has 125 bytes, and the code takes two.
    package static let longestReason = 123

    /// nil: the frame is empty.
    package var code: UInt16?
    /// UTF-8.
    package var reason: [UInt8]

    /// A reason without a code cannot be sent: it is dropped.
    package init(code: UInt16? = nil, reason: [UInt8] = []) {
        self.code = code
        self.reason = code == nil ? [] : reason
    }

    /// Reads a close frame's content.
    package init(payload: [UInt8]) throws(WebSocketError) {
        guard !payload.isEmpty else {
            self.init()
            return
        }
        guard payload.count >= 2 else { throw .closeTooShort }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard WebSocketClose.isAllowed(code) else { throw .invalidCloseCode(code) }
        let reason = Array(payload[2...])
        var validator = UTF8Validator()
        guard validator.take(RawSpan(_elements: reason.span)), validator.isComplete else { throw .invalidCloseReason }
        self.init(code: code, reason: reason)
    }

    /// The frame's content. A code that must not be sent is left out together with the reason. A reason that is too long
    /// is cut between two characters; one that is not UTF-8 is left out.
    package var payload: [UInt8] {
        guard let code, WebSocketClose.isAllowed(code) else { return [] }
        return [UInt8(code >> 8), UInt8(code & 0xFF)] + sendableReason
    }

    private var sendableReason: ArraySlice<UInt8> {
        var end = min(reason.count, WebSocketClose.longestReason)
        while end > 0 {
            var validator = UTF8Validator()
            if validator.take(RawSpan(_elements: reason.span).extracting(first: end)) {
                if validator.isComplete { return reason[..<end] }
                // The cut went through a character.
                if end < reason.count || reason.count > WebSocketClose.longestReason {
                    end -= 1
                    continue
                }
            }
            return []
        }
        return []
    }

    /// Whether a close frame may have this code: those that RFC 6455 §7.4.1 and its registry define, and those
    /// of libraries and programs. 1004, 1005, 1006 and 1015 never go over the wire.
    package static func isAllowed(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
