/// The first bytes of a file, known by the digest of the last ones of them.
package struct DigestedBytes: Codable, Sendable, Equatable {
    /// How many of the last bytes are digested.
    private static let tailLength: Int64 = 65_536

    package var count: Int64
    /// SHA-256 of the last 64 KiB of them, hexadecimal.
    package var tailDigest: String

    package init(count: Int64, tailDigest: String) {
        self.count = count
        self.tailDigest = tailDigest
    }

    /// The offsets whose bytes are digested.
    package static func tail(endingAt end: Int64) -> Range<Int64> {
        max(0, end - tailLength)..<end
    }
}
