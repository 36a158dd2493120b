// The field section of heads and trailers: reading it line by line, and writing it.

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
            // RFC 9112 §5.1: a blank before the colon is used to smuggle fields.
            throw source[position].isBlank ? .spaceBeforeColon : .invalidFieldName
        }
        guard position > first else { throw .invalidFieldName }

        let value = try HeaderFields.valueRange(source, (position + 1)..<range.upperBound)
        guard count < maximumFields else { throw .tooManyFields }
        append(from: source, name: first..<position, value: value)
    }

    /// The part of `range` without blanks around it. Throws when it contains a control character, such as
    /// NUL or a CR that is not part of the line end.
    private static func valueRange(_ source: Span<UInt8>, _ range: Range<Int>) throws(ParseError) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, source[lower].isBlank { lower += 1 }
        while upper > lower, source[upper - 1].isBlank { upper -= 1 }
        guard source.isFieldValue(lower..<upper) else { throw .invalidFieldValue }
        return lower..<upper
    }
}

extension HeaderFields {
    /// Throws when a name is not a token or a value contains a control character, such as CR, LF or NUL.
    func validate() throws(EncodeError) {
        for line in lines {
            guard !line.name.isEmpty, bytes.span.isToken(line.name) else {
                throw .invalidFieldName(String(fieldBytes: bytes[line.name]))
            }
            guard bytes.span.isFieldValue(line.value) else {
                throw .invalidFieldValue(name: String(fieldBytes: bytes[line.name]))
            }
        }
    }

    /// The bytes that `encodeValidated` appends.
    var encodedByteCount: Int {
        lines.reduce(2) { $0 + $1.name.count + $1.value.count + 4 }
    }

    /// Appends every line and the empty line after them. Only for fields that `validate` has accepted.
    func encodeValidated(into output: inout [UInt8]) {
        let source = bytes.span
        output.append(addingCapacity: encodedByteCount) { output in
            for line in lines {
                for index in line.name { output.append(source[index]) }
                output.append(.colon)
                output.append(.space)
                for index in line.value { output.append(source[index]) }
                output.append(.carriageReturn)
                output.append(.lineFeed)
            }
            output.append(.carriageReturn)
            output.append(.lineFeed)
        }
    }
}

extension HTTPVersion {
    /// Whether a head may be written with this version.
    var isWritable: Bool { self == .http1_0 || self == .http1_1 }
}

extension Span<UInt8> {
    /// Whether all bytes of `range` may stand in a token.
    fileprivate func isToken(_ range: Range<Int>) -> Bool {
        for index in range where !self[index].isTokenByte { return false }
        return true
    }
}

extension [UInt8] {
    /// Appends `CR LF`.
    mutating func appendLineEnd() {
        append(.carriageReturn)
        append(.lineFeed)
    }
}
