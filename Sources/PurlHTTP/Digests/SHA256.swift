/// SHA-256 (FIPS 180-4) of bytes that come in pieces of any size.
package struct SHA256: Sendable {
    private var state = SHA256State()
    /// The bytes after the last whole block: fewer than 64.
    private var held: [UInt8] = []
    private var byteCount: UInt64 = 0

    package init() {}

    /// Takes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) {
        byteCount &+= UInt64(bytes.byteCount)
        var rest = bytes
        if !held.isEmpty {
            let missing = min(SHA256State.blockSize - held.count, rest.byteCount)
            held.append(Span(_bytes: rest), 0..<missing)
            rest = rest.extracting(droppingFirst: missing)
            guard held.count == SHA256State.blockSize else { return }
            let block = held
            held.removeAll()
            state.compress(RawSpan(_elements: block.span))
        }
        let whole = rest.byteCount / SHA256State.blockSize * SHA256State.blockSize
        state.compress(rest.extracting(first: whole))
        held.append(Span(_bytes: rest), whole..<rest.byteCount)
    }

    /// The digest, 32 bytes, of all bytes taken. Then a new message begins.
    package mutating func finalize() -> [UInt8] {
        let bitCount = byteCount &* 8
        var padding: [UInt8] = [0x80]
        // The length takes the last eight bytes of a block.
        let zeros = (SHA256State.blockSize * 2 - 9 - held.count) % SHA256State.blockSize
        padding.append(contentsOf: repeatElement(0, count: zeros))
        for shift in stride(from: 56, through: 0, by: -8) {
            padding.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift)))
        }
        update(RawSpan(_elements: padding.span))

        let digest = state.digest
        self = SHA256()
        return digest
    }

    /// The digest, hexadecimal, of bytes that are all there.
    package static func hexadecimal(of bytes: RawSpan) -> String {
        var digest = SHA256()
        digest.update(bytes)
        return hexadecimal(digest.finalize())
    }

    /// Bytes in hexadecimal, small letters, two for each.
    package static func hexadecimal(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(digest.count * 2)
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
