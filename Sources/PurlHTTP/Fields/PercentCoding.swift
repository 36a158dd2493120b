extension String {
    /// The text with the bytes in place of their percent codes (RFC 3986 §2.1); `nil` when a code is broken, or the bytes
    /// are not UTF-8.
    package var percentDecoded: String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(utf8.count)
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                return nil
            }
            decoded.append(UInt8(high << 4 | low))
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
