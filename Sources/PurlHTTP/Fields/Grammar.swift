/// The character classes of RFC 9110 §5.6 and the single bytes of the grammar.
extension UInt8 {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let quote: UInt8 = 0x22
    static let comma: UInt8 = 0x2C
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let backslash: UInt8 = 0x5C

    /// `tchar`: what method names, field names and parameter names are made of.
    var isTokenByte: Bool {
        // One bit per byte: 0 to 63 in the first word, 64 to 127 in the second.
        let words: (UInt64, UInt64) = (0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE)
        let word = self & 0x40 == 0 ? words.0 : words.1
        return self < 0x80 && (word &>> UInt64(self & 0x3F)) & 1 == 1
    }

    /// A byte that a field value or a reason phrase may contain: visible, blank or outside ASCII.
    var isFieldValueByte: Bool { (self >= 0x20 && self != 0x7F) || self == .tab }

    /// A byte that a request target may contain: visible ASCII.
    var isTargetByte: Bool { self > 0x20 && self < 0x7F }

    /// `SP` or `HTAB`.
    var isBlank: Bool { self == .space || self == .tab }

    /// `0` to `9` as a number; nil for every other byte.
    var digitValue: Int? {
        self >= 0x30 && self <= 0x39 ? Int(self &- 0x30) : nil
    }

    /// A hexadecimal digit of either case as a number; nil for every other byte.
    var hexadecimalValue: Int? {
        if let digit = digitValue { return digit }
        let lower = self | 0x20
        return lower >= 0x61 && lower <= 0x66 ? Int(lower &- 0x57) : nil
    }

    /// The byte, `A` to `Z` in lower case.
    var lowercased: UInt8 {
        self >= 0x41 && self <= 0x5A ? self | 0x20 : self
    }
}

extension String {
    /// Field bytes as text: UTF-8 when they are valid UTF-8, Latin-1 otherwise. Never fails, never loses a byte.
    init(fieldBytes bytes: ArraySlice<UInt8>) {
        if let text = String(validating: bytes, as: UTF8.self) {
            self = text
            return
        }
        self.init(latin1: bytes)
    }

    /// The text of bytes in ISO-8859-1.
    init(latin1 bytes: some Sequence<UInt8>) {
        self.init()
        for byte in bytes { unicodeScalars.append(Unicode.Scalar(byte)) }
    }

    /// The bytes of a text in ISO-8859-1. One with other characters did not come from a field: its bytes are those of UTF-8.
    var fieldBytes: [UInt8] {
        let scalars = unicodeScalars
        guard scalars.allSatisfy({ $0.value <= 0xFF }) else { return Array(utf8) }
        return scalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    /// The text of a field whose bytes are those of this text in ISO-8859-1: UTF-8 when they are valid UTF-8.
    package var fieldText: String { String(fieldBytes: fieldBytes[...]) }

    /// The text as a `quoted-string`. Control characters, which no field may contain, are left out.
    var quotedString: String {
        var quoted: [UInt8] = [.quote]
        for byte in utf8 where byte.isFieldValueByte {
            if byte == .quote || byte == .backslash { quoted.append(.backslash) }
            quoted.append(byte)
        }
        quoted.append(.quote)
        return String(decoding: quoted, as: UTF8.self)
    }

    /// Whether the text is a `token`: not empty and made of `tchar` alone.
    var isToken: Bool {
        !isEmpty && utf8.allSatisfy { $0.isTokenByte }
    }

    /// Whether two texts are the same but for the case of ASCII letters.
    func equalsIgnoringCase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0 == $1 || $0.lowercased == $1.lowercased }
    }

    /// The text with ASCII letters in lower case.
    var asciiLowercased: String {
        String(decoding: utf8.map { $0.lowercased }, as: UTF8.self)
    }
}

extension Int64 {
    /// Reads one or more decimal digits, without a sign or blanks. nil for any other text and when the number does not fit.
    package init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard let digit = byte.digitValue else { return nil }
            let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(Int64(digit))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        self = number
    }
}

extension BidirectionalCollection<UInt8> where SubSequence: BidirectionalCollection<UInt8> {
    /// The part without blanks around it.
    func trimmingBlanks() -> SubSequence {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}
