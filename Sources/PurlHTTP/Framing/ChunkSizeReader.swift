/// Reads the line before a chunk's data: `1*HEXDIG [ chunk-ext ] CRLF` (RFC 9112 §7.1). Extensions are passed over.
struct ChunkSizeReader: Sendable {
    private enum Part {
        /// Before the first digit.
        case start
        /// After a digit.
        case digits
        /// After the blanks that may stand between the size and an extension.
        case blanks
        /// After a semicolon.
        case extensions
        /// After CR: only LF may follow.
        case lineEnd
    }

    private let limit: Int
    private var part = Part.start
    private var size: Int64 = 0
    private var otherBytes = 0

    /// `limit`: the bytes of the line that may be something else than significant digits.
    init(limit: Int) {
        self.limit = limit
    }

    /// The size once its line is complete; nil when more input is needed. Then the reader starts anew.
    mutating func next(_ input: Span<UInt8>, from offset: inout Int) throws(ParseError) -> Int64? {
        while offset < input.count {
            let byte = input[offset]
            offset += 1
            if byte == .lineFeed, part == .lineEnd {
                let result = size
                self = ChunkSizeReader(limit: limit)
                return result
            }
            try take(byte)
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) throws(ParseError) {
        switch part {
        case .start, .digits:
            if let digit = byte.hexadecimalValue { return try take(digit: digit) }
            // At least one digit; no sign, no "0x", no blank before it.
            guard part == .digits else { throw .invalidChunkSize }
            try takeAfterSize(byte)
        case .blanks:
            try takeAfterSize(byte)
        case .extensions:
            if byte == .carriageReturn {
                part = .lineEnd
            } else {
                guard byte.isFieldValueByte else { throw .invalidChunkExtension }
                try countOtherByte()
            }
        case .lineEnd:
            // RFC 9112 §7.1.1 and §2.2: a CR alone has been used to hide what follows.
            throw .invalidChunkExtension
        }
    }

    private mutating func take(digit: Int) throws(ParseError) {
        part = .digits
        // A leading zero says nothing, so an endless row of them must meet a limit.
        if size == 0 { try countOtherByte() }
        guard size <= Int64.max >> 4 else { throw .chunkTooLarge }
        size = size << 4 | Int64(digit)
    }

    private mutating func takeAfterSize(_ byte: UInt8) throws(ParseError) {
        switch byte {
        case .carriageReturn: part = .lineEnd
        case .semicolon: part = .extensions
        case .space, .tab: part = .blanks
        default: throw .invalidChunkSize
        }
        if part != .lineEnd { try countOtherByte() }
    }

    private mutating func countOtherByte() throws(ParseError) {
        // The first digit of a size counts too, be it zero or not: hence one more.
        guard otherBytes <= limit else { throw .chunkExtensionTooLarge }
        otherBytes += 1
    }
}
