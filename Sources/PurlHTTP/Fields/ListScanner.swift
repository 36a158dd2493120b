/// Walks over the elements of one comma-separated value and gives where each lies.
struct ListScanner {
    private var position: Int
    private let end: Int

    /// A scanner over the bytes in `range`.
    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next element without blanks around it; empty elements are passed over. nil at the end.
    /// A quoted string that is never closed reaches to the end.
    mutating func next(in bytes: [UInt8]) -> Range<Int>? {
        while position < end {
            let start = position
            var isQuoted = false
            while position < end, isQuoted || bytes[position] != .comma {
                if bytes[position] == .quote { isQuoted.toggle() }
                // Inside quotes a backslash takes the meaning from the next byte.
                if isQuoted, bytes[position] == .backslash, position + 1 < end { position += 1 }
                position += 1
            }
            var lower = start
            var upper = position
            position += 1
            while lower < upper, bytes[lower].isBlank { lower += 1 }
            while upper > lower, bytes[upper - 1].isBlank { upper -= 1 }
            if lower < upper { return lower..<upper }
        }
        return nil
    }
}
