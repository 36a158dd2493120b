/// The bytes from which all generated content is cut, made once a process.
///
/// Content is periodic. The period is a prime next to no round number, so that bytes which landed in the wrong place
/// (off by a block, a buffer or a page) do not look right there.
enum GeneratedBlock {
    /// After how many bytes content repeats itself.
    static let period = 262_139
    /// From any offset this many bytes can be had in one piece.
    static let longestSlice = 256 << 10

    private static let bytes = make()

    /// Calls `body` with at most `count` bytes of the content that starts at `phase` of the block, from `offset` on.
    static func withBytes<Result>(
        at offset: Int, phase: Int, upTo count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let start = (max(0, offset) % period + phase) % period
        return try bytes.withUnsafeBytes { block in
            try body(UnsafeRawBufferPointer(rebasing: block[start..<(start + min(max(0, count), longestSlice))]))
        }
    }

    /// SplitMix64, eight bytes at a time; the part behind the first period repeats its beginning.
    private static func make() -> [UInt8] {
        let count = period + longestSlice
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var state: UInt64 = 0x5EED_0F_B1_0C_C5
            var offset = 0
            while offset + 8 <= count, offset < period {
                state &+= 0x9E37_79B9_7F4A_7C15
                var word = state
                word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
                word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
                raw.storeBytes(of: word ^ (word >> 31), toByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            let tail = UnsafeMutableRawBufferPointer(rebasing: raw[period...])
            tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: raw[..<min(period, tail.count)]))
            // The slices may be a few bytes longer than the period.
            for position in period..<tail.count { tail[position] = tail[position - period] }
            initialized = count
        }
    }
}
