/// When in an answer something goes wrong.
public enum Moment: Sendable, Hashable {
    /// Before the first byte of the final head. Interim responses have been sent.
    case beforeHead
    /// After the first half of the head.
    case midHead
    /// After this many bytes of body; 0 is right after the head. Chunk framing does not count.
    ///
    /// Answers with a shorter body, or with none, never come to this moment.
    case afterBodyBytes(Int)
}
