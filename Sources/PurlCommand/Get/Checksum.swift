import Foundation
import PurlDownloads
import PurlHTTP

/// The SHA-256 of a file.
struct Checksum: Equatable, Sendable {
    /// 64 digits, in lower case.
    let hexadecimal: String

    private static let pieceLength = 1 << 20

    /// - Parameter text: 64 hexadecimal digits of either case; the result is `nil` for any other text.
    init?(_ text: String) {
        guard FileDigest.isHexadecimal(text) else { return nil }
        hexadecimal = text.lowercased()
    }

    /// - Parameter bytes: The 32 bytes of a SHA-256.
    init(bytes: [UInt8]) { hexadecimal = SHA256.hexadecimal(bytes) }

    /// The 32 bytes.
    var bytes: [UInt8] {
        let digits = hexadecimal.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The checksum of the bytes that `digest` has taken.
    init(_ digest: consuming SHA256) {
        self.init(bytes: digest.finalize())
    }

    /// The checksum of a file. Throws `CancellationError` when the calling task is cancelled.
    static func ofFile(at url: URL) async throws -> Checksum {
        var digest = SHA256()
        try await readFile(at: url) { digest.update($0.bytes) }
        return Checksum(digest)
    }

    /// Reads a file to its end. Throws `CancellationError` when the calling task is cancelled.
    static func readFile(at url: URL, _ body: (Data) -> Void) async throws {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        while let piece = try file.read(upToCount: pieceLength), !piece.isEmpty {
            try Task.checkCancellation()
            body(piece)
            // Other tasks run between two pieces of a long file.
            await Task.yield()
        }
    }
}
