/// The checksum of gzip (RFC 1952 §8) over bytes that come in pieces.
struct CRC32: Sendable {
    private var state = UInt32.max

    /// The checksum of all bytes taken.
    var value: UInt32 { ~state }

    /// Takes the next bytes, sixteen at a time: one table for each place.
    mutating func update(_ bytes: RawSpan) {
        let tables = CRC32.tables.span
        let wholeBytes = bytes.byteCount & ~15
        let words = Span<UnalignedWord>(_bytes: bytes.extracting(first: wholeBytes))
        var crc = state
        var index = 0
        while index < words.count {
            // The second word does not wait for the first, which keeps the processor busy.
            crc =
                CRC32.remainder(words[index].value ^ UInt64(crc), 2_048, tables)
                ^ CRC32.remainder(words[index &+ 1].value, 0, tables)
            index &+= 2
        }
        let rest = Span<UInt8>(_bytes: bytes)
        index = wholeBytes
        while index < rest.count {
            crc = crc &>> 8 ^ tables[Int((crc ^ UInt32(rest[index])) & 0xFF)]
            index &+= 1
        }
        state = crc
    }

    /// The remainder of eight bytes; `first` is where the table begins for a byte with as many bytes after it as the last
    /// of these has.
    @inline(always)
    private static func remainder(_ word: UInt64, _ first: Int, _ tables: Span<UInt32>) -> UInt32 {
        tables[first &+ 1_792 &+ Int(word & 0xFF)] ^ tables[first &+ 1_536 &+ Int(word &>> 8 & 0xFF)]
            ^ tables[first &+ 1_280 &+ Int(word &>> 16 & 0xFF)] ^ tables[first &+ 1_024 &+ Int(word &>> 24 & 0xFF)]
            ^ tables[first &+ 768 &+ Int(word &>> 32 & 0xFF)] ^ tables[first &+ 512 &+ Int(word &>> 40 & 0xFF)]
            ^ tables[first &+ 256 &+ Int(word &>> 48 & 0xFF)] ^ tables[first &+ Int(word &>> 56)]
    }

    /// Takes one byte.
    mutating func update(_ byte: UInt8) {
        state = state &>> 8 ^ CRC32.tables[Int((state ^ UInt32(byte)) & 0xFF)]
    }

    /// Sixteen tables of 256 entries. Entry `n` of table `k`: what byte `n` becomes when `k` zero bytes follow it.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        tables.reserveCapacity(4_096)
        for byte in 0..<UInt32(256) {
            var remainder = byte
            for _ in 0..<8 { remainder = remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0xEDB8_8320 }
            tables.append(remainder)
        }
        for index in 256..<4_096 {
            let shorter = tables[index - 256]
            tables.append(shorter >> 8 ^ tables[Int(shorter & 0xFF)])
        }
        return tables
    }()
}
