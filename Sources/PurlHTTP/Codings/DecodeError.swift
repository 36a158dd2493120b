/// Why the bytes of a body are not valid in its content coding. The decoder cannot be used further.
package enum DecodeError: Error, Hashable, Sendable {
    /// The body stops before the coding's end.
    case truncated
    /// The first bytes are not a gzip header, or it requires something that no version of the format defines.
    case invalidHeader
    /// The gzip header does not match its checksum.
    case headerChecksumMismatch
    /// A zlib stream that needs a preset dictionary, which HTTP cannot supply.
    case presetDictionary
    case invalidBlockType
    case storedLengthMismatch
    /// The lengths of a block's codes do not describe a prefix code.
    case invalidCodeLengths
    /// A code without a meaning.
    case invalidSymbol
    /// A match that begins before the first byte.
    case distanceTooFar
    case checksumMismatch
    case lengthMismatch
}

extension DecodeError: CustomStringConvertible {
    /// One sentence for people.
    package var description: String {
        switch self {
        case .truncated: "The coded body stops before its end."
        case .invalidHeader: "The body does not begin with a gzip header."
        case .headerChecksumMismatch: "The gzip header does not match its checksum."
        case .presetDictionary: "The body needs a preset dictionary."
        case .invalidBlockType: "A compressed block has a type that does not exist."
        case .storedLengthMismatch: "The length of a stored block does not match its complement."
        case .invalidCodeLengths: "The Huffman codes of a compressed block are not valid."
        case .invalidSymbol: "A compressed block contains a code without a meaning."
        case .distanceTooFar: "A compressed block refers to bytes before the beginning."
        case .checksumMismatch: "The decoded body does not match its checksum."
        case .lengthMismatch: "The decoded body does not have the length that its coding declares."
        }
    }
}
