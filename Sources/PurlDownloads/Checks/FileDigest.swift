import Foundation
internal import PurlHTTP

/// SHA-256 of whole files.
package enum FileDigest {
    private static let pieceLength: Int64 = 1 << 20

    /// The digest, hexadecimal, of `length` bytes read piece by piece; `nil` when `isStopped` said so on the way.
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

    /// The digest of the file at `url`.
    static func sha256(fileAt url: URL, isStopped: () -> Bool) throws -> String? {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        let length = Int64(try file.seekToEnd())
        try file.seek(toOffset: 0)
        return try sha256(length: length, isStopped: isStopped) { range in
            try file.read(upToCount: Int(range.upperBound - range.lowerBound)) ?? Data()
        }
    }

    /// Whether a text is a SHA-256 as users write it: 64 hexadecimal digits of either case.
    package static func isHexadecimal(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0)
            }
    }
}
