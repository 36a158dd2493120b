/// Reads a structured field (RFC 9651 §4.2) item by item. Every method that does not find what it reads leaves the reader in a
/// place of no meaning: a field that fails to parse is ignored altogether.
struct StructuredFieldReader {
    /// A bare item, as far as Purl tells them apart.
    enum Item: Hashable {
        case integer(Int64)
        case boolean(Bool)
        /// A decimal, string, token, byte sequence, date or display string, or an inner list.
        case other
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
        skip { $0 == .space }
    }

    /// Reads a dictionary, all of whose values `value` reads; calls `visit` with each member. False when the dictionary breaks
    /// the grammar.
    mutating func readDictionary<Value>(
        of value: (inout StructuredFieldReader) -> Value?, visit: (ArraySlice<UInt8>, Value) -> Void
    ) -> Bool {
        while position < bytes.count {
            guard let key = key(), let value = value(&self), skipParameters() else { return false }
            visit(key, value)
            skip { $0.isBlank }
            guard position < bytes.count else { break }
            guard take(.comma) else { return false }
            skip { $0.isBlank }
            // A comma must be followed by a member.
            guard position < bytes.count else { return false }
        }
        return true
    }

    /// Reads a field that is one item; nil when it is anything else.
    mutating func readItem() -> Item? {
        guard let item = bareItem(), skipParameters() else { return nil }
        skip { $0 == .space }
        return position == bytes.count ? item : nil
    }

    /// `[ "=" ( item / inner-list ) ]`: a member without a value is a Boolean true.
    mutating func memberItem() -> Item? {
        guard take(.equals) else { return .boolean(true) }
        guard position < bytes.count, bytes[position] == UInt8(ascii: "(") else { return bareItem() }
        return skipInnerList() ? .other : nil
    }

    /// `"=" ":" base64 ":"`
    mutating func memberBytes() -> [UInt8]? {
        take(.equals) ? byteSequence() : nil
    }

    // MARK: Parts

    private mutating func skip(_ condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// `( lcalpha / "*" ) *( lcalpha / DIGIT / "_" / "-" / "." / "*" )`
    private mutating func key() -> ArraySlice<UInt8>? {
        let start = position
        guard position < bytes.count, bytes[position].isSmallLetter || bytes[position] == UInt8(ascii: "*") else {
            return nil
        }
        skip { $0.isSmallLetter || $0.digitValue != nil || "_-.*".utf8.contains($0) }
        return bytes[start..<position]
    }

    private mutating func bareItem() -> Item? {
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case .colon: return byteSequence() == nil ? nil : .other
        case .quote: return skipString() ? .other : nil
        case UInt8(ascii: "?"): return boolean()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
        default:
            // Tokens and dates.
            let start = position
            skip { $0.isTokenByte || ":/?@".utf8.contains($0) }
            return position > start ? .other : nil
        }
    }

    /// `"?" ( "0" / "1" )`
    private mutating func boolean() -> Item? {
        position += 1
        if take(UInt8(ascii: "1")) { return .boolean(true) }
        return take(UInt8(ascii: "0")) ? .boolean(false) : nil
    }

    /// `["-"] 1*15DIGIT`, or a decimal: up to 12 digits, a dot and up to three more.
    private mutating func number() -> Item? {
        let isNegative = take(UInt8(ascii: "-"))
        let start = position
        skip { $0.digitValue != nil }
        let digits = bytes[start..<position]
        if take(UInt8(ascii: ".")) {
            let fraction = position
            skip { $0.digitValue != nil }
            return 1...12 ~= digits.count && 1...3 ~= position - fraction ? .other : nil
        }
        guard digits.count <= 15, let number = Int64(digits: digits) else { return nil }
        return .integer(isNegative ? -number : number)
    }

    /// `":" base64 ":"`
    private mutating func byteSequence() -> [UInt8]? {
        guard take(.colon) else { return nil }
        let start = position
        skip { $0 != .colon }
        let encoded = bytes[start..<position]
        guard take(.colon) else { return nil }
        return Base64.decode(encoded)
    }

    /// `"(" *SP [ item *( 1*SP item ) *SP ] ")"`
    private mutating func skipInnerList() -> Bool {
        position += 1
        while true {
            skip { $0 == .space }
            if take(UInt8(ascii: ")")) { return true }
            guard bareItem() != nil, skipParameters(), position < bytes.count,
                bytes[position] == .space || bytes[position] == UInt8(ascii: ")")
            else { return false }
        }
    }

    /// `*( ";" *SP key [ "=" bare-item ] )`. False when they break the grammar.
    private mutating func skipParameters() -> Bool {
        while take(.semicolon) {
            skip { $0 == .space }
            guard key() != nil else { return false }
            guard take(.equals) else { continue }
            guard bareItem() != nil else { return false }
        }
        return true
    }

    private mutating func skipString() -> Bool {
        position += 1
        while position < bytes.count, bytes[position] != .quote {
            if bytes[position] == .backslash { position += 1 }
            position += 1
        }
        return take(.quote)
    }
}

extension UInt8 {
    fileprivate var isSmallLetter: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
}
