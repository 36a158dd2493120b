/// The encoding of bytes as text of 64 printable ASCII characters (RFC 4648 §4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of the bytes, padded, in one line.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.underestimatedCount + 2) / 3 * 4)
        var group: UInt32 = 0
        var count = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            count += 1
            guard count == 3 else { continue }
            append(group, characters: 4, to: &text)
            (group, count) = (0, 0)
        }
        if count > 0 {
            append(group << UInt32(8 * (3 - count)), characters: count + 1, to: &text)
            text.append(contentsOf: repeatElement(.equals, count: 3 - count))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes that a text encodes; nil unless it is in canonical form: whole groups, padded, without other characters
    /// between them, and with zeros as the unused bits of the last group.
    package static func decode(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padding = text.reversed().prefix { $0 == .equals }.count
        guard padding <= 2 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count / 4 * 3)
        var accumulator: UInt32 = 0
        var bits: UInt32 = 0
        for byte in text.dropLast(padding) {
            guard let value = byte.base64Value else { return nil }
            accumulator = (accumulator << 6 | value) & 0xFFFF
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            decoded.append(UInt8(truncatingIfNeeded: accumulator >> bits))
        }
        guard accumulator & (1 << bits - 1) == 0 else { return nil }
        return decoded
    }

    private static func append(_ group: UInt32, characters: Int, to text: inout [UInt8]) {
        for place in 0..<characters { text.append(alphabet[Int(group >> UInt32(18 - 6 * place) & 63)]) }
    }
}

extension UInt8 {
    /// The six bits a character of base64 stands for; nil for every other byte.
    fileprivate var base64Value: UInt32? {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(self - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(self - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
