/// Writing a field section, for heads and trailers alike.
extension HeaderFields {
    /// Throws when a name is no token or a value holds a control character: CR, LF and NUL above all.
    func validate() throws(EncodeError) {
        for line in lines {
            guard !line.name.isEmpty, bytes[line.name].allSatisfy(\.isTokenByte) else {
                throw .invalidFieldName(String(fieldBytes: bytes[line.name]))
            }
            guard bytes[line.value].allSatisfy(\.isFieldValueByte) else {
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
        for line in lines {
            output.append(contentsOf: bytes[line.name])
            output.append(.colon)
            output.append(.space)
            output.append(contentsOf: bytes[line.value])
            output.appendLineEnd()
        }
        output.appendLineEnd()
    }
}

extension HTTPVersion {
    /// Whether a head may be written with this version.
    var isWritable: Bool { self == .http1_0 || self == .http1_1 }
}

extension [UInt8] {
    /// Appends `CR LF`.
    mutating func appendLineEnd() {
        append(.carriageReturn)
        append(.lineFeed)
    }
}
