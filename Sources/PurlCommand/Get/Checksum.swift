import Foundation
import PurlDownloads
import PurlHTTP

/// The SHA-256 of a file.
struct Checksum: Equatable, Sendable {
    /// 64 small digits.
    let hexadecimal: String

    private static let pieceLength = 1 << 20

    /// - Parameter text: 64 hexadecimal digits, large or small; `nil` comes of anything else.
    init?(_ text: String) {
        guard FileDigest.isHexadecimal(text) else { return nil }
        hexadecimal = text.lowercased()
    }

    private init(_ digest: [UInt8]) {
        hexadecimal = SHA256.hexadecimal(digest)
    }

    /// The checksum of what a file holds now. Ends early, with `CancellationError`, when the calling task is cancelled.
    static func ofFile(at url: URL) async throws -> Checksum {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        var digest = SHA256()
        while let piece = try file.read(upToCount: pieceLength), !piece.isEmpty {
            try Task.checkCancellation()
            digest.update(piece.bytes)
            // A long file is not to keep other transfers from their turn.
            await Task.yield()
        }
        return Checksum(digest.finalize())
    }
}
