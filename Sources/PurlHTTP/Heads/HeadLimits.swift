/// The limits on heads, trailers and chunk extensions; a peer that exceeds one counts as an attacker.
package struct HeadLimits: Sendable, Hashable {
    /// Bytes of a whole head: empty lines before it, start line, fields and the empty line after them.
    package var maximumBytes: Int
    /// Field lines of a head, and again of a trailer section.
    package var maximumFields: Int
    /// Bytes of a trailer section with the empty line after it.
    package var maximumTrailerBytes: Int
    /// Bytes of one chunk's size line that are not significant digits of the size.
    package var maximumChunkExtensionBytes: Int
    /// Interim (1xx) heads before the final one. The connection counts them.
    package var maximumInterimResponses: Int

    package init(
        maximumBytes: Int = 65_536, maximumFields: Int = 256, maximumTrailerBytes: Int = 16_384,
        maximumChunkExtensionBytes: Int = 4_096, maximumInterimResponses: Int = 100
    ) {
        self.maximumBytes = maximumBytes
        self.maximumFields = maximumFields
        self.maximumTrailerBytes = maximumTrailerBytes
        self.maximumChunkExtensionBytes = maximumChunkExtensionBytes
        self.maximumInterimResponses = maximumInterimResponses
    }

    /// The limits Purl uses unless configured otherwise.
    package static let standard = HeadLimits()
}
