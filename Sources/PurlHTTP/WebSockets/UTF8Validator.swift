/// Checks text that comes in pieces (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. It fails at
/// the first wrong byte, not only at the text's end.
package struct UTF8Validator: Sendable {
    /// How many bytes of the current character are missing.
    private var missing = 0
    /// The range of the next of them.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    package init() {}

    /// Whether the text does not stop inside a character.
    package var isComplete: Bool { missing == 0 }

    /// Takes the next bytes; false when they are not valid UTF-8. After that it cannot be used further.
    package mutating func take(_ text: RawSpan) -> Bool {
        let bytes = Span<UInt8>(_bytes: text)
        var position = 0
        while position < bytes.count {
            if missing == 0 {
                position = UTF8Validator.endOfASCII(text, from: position)
                guard position < bytes.count else { return true }
                guard begin(bytes[position]) else { return false }
            } else {
                guard bytes[position] >= lower, bytes[position] <= upper else { return false }
                (lower, upper) = (0x80, 0xBF)
                missing &-= 1
            }
            position &+= 1
        }
        return true
    }

    /// The first byte of a character of more than one.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lower) = (2, 0xA0)
        case 0xED: (missing, upper) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lower) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, upper) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// Passes over bytes below 0x80, eight at a time.
    private static func endOfASCII(_ text: RawSpan, from start: Int) -> Int {
        var position = start
        let lastWord = text.byteCount &- 8
        while position <= lastWord, text.word(at: position) & 0x8080_8080_8080_8080 == 0 { position &+= 8 }
        let bytes = Span<UInt8>(_bytes: text)
        while position < bytes.count, bytes[position] < 0x80 { position &+= 1 }
        return position
    }
}
