/// Why the bytes of a body are not what its content coding promises. The decoder is of no further use.
package enum DecodeError: Error, Hashable, Sendable {
    /// The body stops before the coding's end.
    case truncated
    /// The first bytes are no gzip header, or it asks for something no version of the format has.
    case invalidHeader
    /// The checksum of the gzip header does not fit.
    case headerChecksumMismatch
    /// A zlib stream that needs a dictionary agreed on beforehand, which HTTP has no way to do.
    case presetDictionary
    case invalidBlockType
    case storedLengthMismatch
    /// The lengths of a block's codes describe no prefix code.
    case invalidCodeLengths
    /// A code that stands for nothing.
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
        case .lengthMismatch: "The decoded body does not have the length its coding says."
        }
    }
}
