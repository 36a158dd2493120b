import Foundation
import Purl
internal import PurlHTTP

/// SHA-256 of files, computed piece by piece.
package enum FileDigest {
    private static let pieceLength: Int64 = 1 << 20

    /// The digest, hexadecimal, of `length` bytes that `read` returns; `nil` when `isStopped` becomes true meanwhile.
    static func sha256(
        length: Int64, isStopped: () -> Bool, read: (Range<Int64>) throws -> Data
    ) throws -> String? {
        var digest = SHA256()
        var offset: Int64 = 0
        while offset < length {
            guard !isStopped() else { return nil }
            let piece = try read(offset..<min(length, offset + pieceLength))
            guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
            digest.update(piece.bytes)
            offset += Int64(piece.count)
        }
        return SHA256.hexadecimal(digest.finalize())
    }

    /// The digest of the file at `url`; `nil` when `isStopped` becomes true meanwhile.
    static func sha256(fileAt url: URL, isStopped: () -> Bool) throws -> String? {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        let length = Int64(try file.seekToEnd())
        try file.seek(toOffset: 0)
        return try sha256(length: length, isStopped: isStopped) { range in
            try file.read(upToCount: Int(range.upperBound - range.lowerBound)) ?? Data()
        }
    }

    /// Whether a text is a SHA-256: 64 hexadecimal digits of either case.
    package static func isHexadecimal(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0)
            }
    }
}

/// The digests in a response (RFC 9530), hexadecimal.
struct ResponseDigests {
    /// Of the whole representation, even when the response carries a part of it.
    let representation: String?
    /// Of the bytes in this response: of the file, when it carries all of it.
    let content: String?

    init(_ response: HTTPURLResponse) {
        representation = Self.sha256(response, "Repr-Digest")
        content = Self.sha256(response, "Content-Digest")
    }

    private static func sha256(_ response: HTTPURLResponse, _ field: String) -> String? {
        response.value(forHTTPHeaderField: field).flatMap(DigestField.sha256).map(SHA256.hexadecimal)
    }
}
