/// Where in an answer something goes wrong.
///
/// An answer that has no such place (one without a body, or whose body is not chunked) goes through unharmed.
public enum Phase: Sendable, Hashable {
    /// Before the first byte of the final head. Interim responses have been sent.
    case beforeHead
    /// In the middle of the status line.
    case statusLine
    /// In the middle of the first field line.
    case field
    /// After the first half of the head.
    case midHead
    /// After this many bytes of body; 0 is right after the head. Chunk framing does not count.
    ///
    /// Answers with a shorter body, or with none, never come to this phase.
    case afterBodyBytes(Int)
    /// After the first half of the body.
    case midBody
    /// In the size of a chunk: the second one, or, where there is only one, the zero at the end.
    case chunkSize
    /// In the middle of the first chunk.
    case chunk
    /// After the last chunk, in the middle of the trailer fields if there are any.
    case trailers
}

extension Phase: CaseIterable, CustomStringConvertible {
    /// Every phase, in the order in which an answer comes to them.
    public static let allCases: [Phase] = [
        .beforeHead, .statusLine, .field, .midHead, .afterBodyBytes(0), .chunk, .chunkSize, .midBody, .trailers,
    ]

    /// The phase in words: "in the status line".
    public var description: String {
        switch self {
        case .beforeHead: "before the head"
        case .statusLine: "in the status line"
        case .field: "in a field"
        case .midHead: "in the middle of the head"
        case .afterBodyBytes(0): "right after the head"
        case .afterBodyBytes(let count): "after \(count) bytes of body"
        case .midBody: "in the middle of the body"
        case .chunkSize: "in a chunk's size"
        case .chunk: "in a chunk"
        case .trailers: "in the trailers"
        }
    }
}
