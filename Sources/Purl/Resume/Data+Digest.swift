import Foundation
internal import PurlHTTP

extension Data {
    /// The SHA-256 of the bytes, hexadecimal.
    var sha256: String {
        SHA256.hexadecimal(of: bytes)
    }
}
