/// The character classes of RFC 9110 §5.6 and the few bytes the grammar names.
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

    /// A byte that a field value or a reason phrase may hold: visible, blank or outside ASCII.
    var isFieldValueByte: Bool { (self >= 0x20 && self != 0x7F) || self == .tab }

    /// A byte that a request target may hold: visible ASCII.
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

    /// The byte with `A` to `Z` made small.
    var lowercased: UInt8 {
        self >= 0x41 && self <= 0x5A ? self | 0x20 : self
    }
}
