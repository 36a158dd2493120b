import PurlHTTP
import PurlTesting

/// SHA-256 of content that is not in a file, taken piece by piece.
enum Digest {
    private static let pieceLength = 1 << 20

    /// The digest of what the server has, hexadecimal.
    static func of(_ content: GeneratedContent) -> String {
        var digest = SHA256()
        for start in stride(from: 0, to: content.size, by: pieceLength) {
            digest.update(content.bytes(start..<min(content.size, start + pieceLength)).bytes)
        }
        return SHA256.hexadecimal(digest.finalize())
    }
}
