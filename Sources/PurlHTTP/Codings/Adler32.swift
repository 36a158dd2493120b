/// The checksum of zlib (RFC 1950 §8.2) over bytes that come in pieces.
struct Adler32: Sendable {
    private static let modulus: UInt32 = 65_521
    /// How many bytes the sums can take before they may no longer fit in 32 bits.
    private static let runLength = 5_552

    private var sum: UInt32 = 1
    private var sumOfSums: UInt32 = 0

    /// The checksum of all bytes taken.
    var value: UInt32 { sumOfSums << 16 | sum }

    /// Takes the next bytes.
    mutating func update(_ bytes: RawSpan) {
        var rest = bytes
        while !rest.isEmpty {
            let run = rest.extracting(first: min(Adler32.runLength, rest.byteCount))
            rest = rest.extracting(droppingFirst: run.byteCount)
            take(run)
        }
    }

    private mutating func take(_ run: RawSpan) {
        var a = sum
        var b = sumOfSums
        // Eight bytes at once: the first is in eight of the eight sums that follow, the last in one.
        let whole = run.byteCount & ~7
        let words = Span<UnalignedWord>(_bytes: run.extracting(first: whole))
        var index = 0
        while index < words.count {
            let word = words[index].value
            let byte0 = UInt32(truncatingIfNeeded: word & 0xFF)
            let byte1 = UInt32(truncatingIfNeeded: word &>> 8 & 0xFF)
            let byte2 = UInt32(truncatingIfNeeded: word &>> 16 & 0xFF)
            let byte3 = UInt32(truncatingIfNeeded: word &>> 24 & 0xFF)
            let byte4 = UInt32(truncatingIfNeeded: word &>> 32 & 0xFF)
            let byte5 = UInt32(truncatingIfNeeded: word &>> 40 & 0xFF)
            let byte6 = UInt32(truncatingIfNeeded: word &>> 48 & 0xFF)
            let byte7 = UInt32(truncatingIfNeeded: word &>> 56)
            b = b &+ a &* 8 &+ byte0 &* 8 &+ byte1 &* 7 &+ byte2 &* 6 &+ byte3 &* 5
            b = b &+ byte4 &* 4 &+ byte5 &* 3 &+ byte6 &* 2 &+ byte7
            a = a &+ byte0 &+ byte1 &+ byte2 &+ byte3 &+ byte4 &+ byte5 &+ byte6 &+ byte7
            index &+= 1
        }
        let bytes = Span<UInt8>(_bytes: run)
        index = whole
        while index < bytes.count {
            a = a &+ UInt32(bytes[index])
            b = b &+ a
            index &+= 1
        }
        sum = a % Adler32.modulus
        sumOfSums = b % Adler32.modulus
    }
}
