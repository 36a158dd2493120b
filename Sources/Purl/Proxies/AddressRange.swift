internal import PurlIO

/// Addresses that begin with the same bits (RFC 4632): `10.0.0.0/8`, `fe80::/10`, or one address alone.
struct AddressRange: Hashable, Sendable {
    private let bytes: [UInt8]
    private let bits: Int

    /// `nil` when the text is neither an address in digits nor one with the length of a prefix. Zeros at the end of an
    /// IPv4 prefix may be left out, as in `169.254/16`.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let hasLength = parts.count == 2
        var literal = String(parts.first ?? "")
        if hasLength, !literal.contains(":") {
            let missing = 3 - literal.utf8.count { $0 == UInt8(ascii: ".") }
            if missing > 0 { literal += String(repeating: ".0", count: missing) }
        }
        guard let address = SocketAddress(literal: literal, port: 0) else { return nil }
        bytes = address.bytes
        guard hasLength else {
            bits = bytes.count * 8
            return
        }
        guard let length = parts.last.flatMap({ Int($0) }), (0...bytes.count * 8).contains(length) else { return nil }
        bits = length
    }

    func contains(_ address: SocketAddress) -> Bool {
        let other = address.bytes
        guard other.count == bytes.count else { return false }
        let whole = bits / 8
        guard other[..<whole] == bytes[..<whole] else { return false }
        let rest = bits % 8
        return rest == 0 || (other[whole] ^ bytes[whole]) >> (8 - rest) == 0
    }
}
