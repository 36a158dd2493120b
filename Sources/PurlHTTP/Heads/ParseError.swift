/// Why bytes from a peer are not an HTTP/1.1 message. The connection they came from cannot be used further.
package enum ParseError: Error, Hashable, Sendable {
    case malformedStartLine
    case malformedVersion
    case unsupportedVersion
    case malformedStatus
    case invalidReason
    case invalidMethod
    case invalidTarget
    case invalidFieldName
    case spaceBeforeColon
    case missingColon
    case invalidFieldValue
    case foldWithoutField

    case headTooLarge
    case tooManyFields
    case trailersTooLarge
    case chunkExtensionTooLarge

    case transferEncodingWithContentLength
    case transferEncodingInOldVersion
    case unsupportedTransferCoding
    case invalidContentLength
    case conflictingContentLengths

    case invalidChunkSize
    case chunkTooLarge
    case invalidChunkExtension
    case missingChunkEnd

    case prematureEnd

    /// The groups of errors, by which a caller chooses the failure's code.
    package enum Kind: Hashable, Sendable {
        /// A start line or a field line breaks the grammar.
        case malformedHead
        /// One of `HeadLimits` was passed.
        case limitExceeded
        /// The end of the message cannot be determined safely (RFC 9112 §6.3).
        case framing
        /// The chunked coding is broken.
        case chunk
        /// The peer closed the connection inside the message.
        case prematureEnd
    }

    /// The group this error belongs to.
    package var kind: Kind {
        switch self {
        case .malformedStartLine, .malformedVersion, .unsupportedVersion, .malformedStatus, .invalidReason,
            .invalidMethod, .invalidTarget, .invalidFieldName, .spaceBeforeColon, .missingColon,
            .invalidFieldValue, .foldWithoutField:
            .malformedHead
        case .headTooLarge, .tooManyFields, .trailersTooLarge, .chunkExtensionTooLarge:
            .limitExceeded
        case .transferEncodingWithContentLength, .transferEncodingInOldVersion, .unsupportedTransferCoding,
            .invalidContentLength, .conflictingContentLengths:
            .framing
        case .invalidChunkSize, .chunkTooLarge, .invalidChunkExtension, .missingChunkEnd:
            .chunk
        case .prematureEnd:
            .prematureEnd
        }
    }
}

extension ParseError: CustomStringConvertible {
    /// One sentence for people.
    package var description: String {
        switch self {
        case .malformedStartLine: "The first line is not an HTTP start line."
        case .malformedVersion: "The start line carries no valid HTTP version."
        case .unsupportedVersion: "The HTTP version is not 1.x."
        case .malformedStatus: "The status code is not a number from 100 to 999."
        case .invalidReason: "The reason phrase contains a control character."
        case .invalidMethod: "The request method is not a token."
        case .invalidTarget: "The request target is empty or contains a blank, a control or a non-ASCII character."
        case .invalidFieldName: "A field name is empty or is not a token."
        case .spaceBeforeColon: "There is a blank between a field name and its colon."
        case .missingColon: "A field line has no colon."
        case .invalidFieldValue: "A field value contains a control character."
        case .foldWithoutField: "A continuation line comes before the first field."
        case .headTooLarge: "The head is larger than allowed."
        case .tooManyFields: "There are more fields than allowed."
        case .trailersTooLarge: "The trailer section is larger than allowed."
        case .chunkExtensionTooLarge: "The extensions of a chunk are larger than allowed."
        case .transferEncodingWithContentLength: "The message has both Transfer-Encoding and Content-Length."
        case .transferEncodingInOldVersion: "An HTTP/1.0 message has Transfer-Encoding."
        case .unsupportedTransferCoding: "The transfer coding is not chunked alone."
        case .invalidContentLength: "Content-Length is not a valid number."
        case .conflictingContentLengths: "The message has several Content-Length values that differ."
        case .invalidChunkSize: "A chunk does not start with a hexadecimal size."
        case .chunkTooLarge: "The size of a chunk is larger than a 64-bit number can hold."
        case .invalidChunkExtension: "The line of a chunk's size contains a character that is not allowed there."
        case .missingChunkEnd: "The data of a chunk is not followed by a line end."
        case .prematureEnd: "The connection was closed before the end of the message."
        }
    }
}
