import Foundation
internal import PurlHTTP

extension Data {
    /// The SHA-256 of the bytes, hexadecimal.
    var sha256: String {
        var digest = SHA256()
        withUnsafeBytes { digest.update($0.bytes) }
        return SHA256.hexadecimal(digest.finalize())
    }
}
