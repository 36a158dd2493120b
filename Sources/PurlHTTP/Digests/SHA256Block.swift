/// Sixteen big-endian words as they lie in memory. Made of bytes, so it may lie at any address, and reading a whole
/// block is one access: in a build without optimisation 64 accesses would cost as much as the rounds.
struct SHA256Block: BitwiseCopyable {
    /// Four bytes, the most significant first.
    struct Word: BitwiseCopyable {
        private let byte0, byte1, byte2, byte3: UInt8

        var value: UInt32 {
            UInt32(truncatingIfNeeded: byte0) &<< 24 | UInt32(truncatingIfNeeded: byte1) &<< 16
                | UInt32(truncatingIfNeeded: byte2) &<< 8 | UInt32(truncatingIfNeeded: byte3)
        }
    }

    let word0, word1, word2, word3, word4, word5, word6, word7: Word
    let word8, word9, word10, word11, word12, word13, word14, word15: Word
}
