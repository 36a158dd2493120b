/// The first bytes of a file, known by the digest of the last ones of them.
struct DigestedBytes: Codable, Sendable, Equatable {
    /// How many of the last bytes are digested.
    private static let tailLength: Int64 = 65_536

    var count: Int64
    /// SHA-256 of the last 64 KiB of them, hexadecimal.
    var tailDigest: String

    /// The offsets whose bytes are digested.
    static func tail(endingAt end: Int64) -> Range<Int64> {
        max(0, end - tailLength)..<end
    }
}
