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

/// Looking at eight bytes at a time: every byte of every head goes through here, and every line of a journal.
extension Span<UInt8> {
    /// Where the first line feed of `range` lies; the range's end when there is none.
    package func lineFeed(in range: Range<Int>) -> Int {
        let raw = RawSpan(_elements: self)
        var position = range.lowerBound
        while range.upperBound - position >= 8 {
            // A byte becomes zero where it is a line feed, and the lowest zero byte is found exactly.
            let difference = raw.word(at: position) ^ (0x0101_0101_0101_0101 &* 0x0A)
            let zeros = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
            if zeros != 0 { return position + zeros.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < range.upperBound, self[position] != .lineFeed { position += 1 }
        return position
    }

    /// How many bytes are left without the zeros at the end.
    package var countWithoutZeros: Int {
        let raw = RawSpan(_elements: self)
        var count = count
        while count >= 8, raw.word(at: count - 8) == 0 { count -= 8 }
        while count > 0, self[count - 1] == 0 { count -= 1 }
        return count
    }

    /// Whether all bytes of `range` may stand in a field value.
    func isFieldValue(_ range: Range<Int>) -> Bool {
        let raw = RawSpan(_elements: self)
        var position = range.lowerBound
        while range.upperBound - position >= 8 {
            let bytes = raw.word(at: position)
            let delete = bytes ^ (0x0101_0101_0101_0101 &* 0x7F)
            let controls = (bytes &- (0x0101_0101_0101_0101 &* 0x20)) & ~bytes
            let deletes = (delete &- 0x0101_0101_0101_0101) & ~delete
            // A tab is a control that is allowed, so these eight are looked at one by one.
            if (controls | deletes) & 0x8080_8080_8080_8080 != 0 {
                for offset in position..<(position + 8) where !self[offset].isFieldValueByte { return false }
            }
            position += 8
        }
        for offset in position..<range.upperBound where !self[offset].isFieldValueByte { return false }
        return true
    }
}

extension [UInt8] {
    /// Appends the bytes of `span` in `range`.
    mutating func append(_ span: Span<UInt8>, _ range: Range<Int>) {
        // Appending nothing to an empty array writes to the storage that all empty arrays share: a race.
        guard !range.isEmpty else { return }
        append(addingCapacity: range.count) { output in
            for index in range { output.append(span[index]) }
        }
    }
}
