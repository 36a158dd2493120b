/// Reading a field section line by line, for heads and trailers alike.
extension HeaderFields {
    /// Adds the field line that lies in `range` of `source`, its end not included; the range is not empty.
    mutating func parseLine(
        _ source: Span<UInt8>, _ range: Range<Int>, maximumFields: Int
    ) throws(ParseError) {
        guard let first = range.first else { return }
        if source[first].isBlank {
            // RFC 9112 §5.2: obs-fold; a user agent replaces it by a blank.
            let more = try HeaderFields.valueRange(source, range)
            guard extendLast(from: source, more) else { throw .foldWithoutField }
            return
        }

        var position = first
        while position < range.upperBound, source[position].isTokenByte { position += 1 }
        guard position < range.upperBound else { throw .missingColon }
        guard source[position] == .colon else {
            // RFC 9112 §5.1: a blank before the colon has been used to smuggle fields.
            throw source[position].isBlank ? .spaceBeforeColon : .invalidFieldName
        }
        guard position > first else { throw .invalidFieldName }

        let value = try HeaderFields.valueRange(source, (position + 1)..<range.upperBound)
        guard count < maximumFields else { throw .tooManyFields }
        append(from: source, name: first..<position, value: value)
    }

    /// The part of `range` without blanks around it. Throws when a control character is in it: a CR that is not
    /// part of the line end, and NUL, are such.
    private static func valueRange(_ source: Span<UInt8>, _ range: Range<Int>) throws(ParseError) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, source[lower].isBlank { lower += 1 }
        while upper > lower, source[upper - 1].isBlank { upper -= 1 }
        guard source.isFieldValue(lower..<upper) else { throw .invalidFieldValue }
        return lower..<upper
    }
}
