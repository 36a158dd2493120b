/// SHA-256 (FIPS 180-4) of bytes that come in pieces of any size.
package struct SHA256: Sendable {
    private var blocks = BlockDigest<SHA256State>()

    package init() {}

    /// Takes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) { blocks.update(bytes) }

    /// The digest, 32 bytes, of all bytes taken. Then a new message begins.
    package mutating func finalize() -> [UInt8] { blocks.finalize() }

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
