/// Writing a field section, for heads and trailers alike.
extension HeaderFields {
    /// Throws when a name is no token or a value holds a control character: CR, LF and NUL above all.
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

    /// Appends every line and the empty line after them. Only for fields that `validate` has let pass.
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
