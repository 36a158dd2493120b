import Foundation
import PurlHTTP
import PurlTesting

/// SHA-256 of many bytes, taken piece by piece.
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

    /// The digest of a file, hexadecimal.
    static func ofFile(at url: URL) throws -> String {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        var digest = SHA256()
        while let piece = try file.read(upToCount: pieceLength), !piece.isEmpty {
            digest.update(piece.bytes)
        }
        return SHA256.hexadecimal(digest.finalize())
    }
}
