/// Eight bytes as they lie in memory. Made of bytes, so it may lie at any address; reading it is one access.
struct UnalignedWord: BitwiseCopyable {
    private let byte0, byte1, byte2, byte3, byte4, byte5, byte6, byte7: UInt8

    /// The bytes as a number, the first the least significant.
    @inline(always)
    var value: UInt64 {
        UInt64(byte0) | UInt64(byte1) &<< 8 | UInt64(byte2) &<< 16 | UInt64(byte3) &<< 24
            | UInt64(byte4) &<< 32 | UInt64(byte5) &<< 40 | UInt64(byte6) &<< 48 | UInt64(byte7) &<< 56
    }
}

extension RawSpan {
    /// The eight bytes from `offset` on as a number, the first the least significant.
    @inline(always)
    func word(at offset: Int) -> UInt64 {
        Span<UnalignedWord>(_bytes: extracting(offset..<(offset &+ 8)))[0].value
    }

    /// A value made of bytes that lies at `offset` and is as large as its stride.
    @inline(always)
    func load<Value: BitwiseCopyable>(at offset: Int, as type: Value.Type) -> Value {
        Span<Value>(_bytes: extracting(offset..<(offset &+ MemoryLayout<Value>.stride)))[0]
    }
}
