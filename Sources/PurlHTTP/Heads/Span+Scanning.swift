/// Looking at eight bytes at a time: every byte of every head goes through here.
extension Span<UInt8> {
    /// Where the first line feed of `range` lies; the range's end when there is none.
    func lineFeed(in range: Range<Int>) -> Int {
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
