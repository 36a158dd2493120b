import Foundation
import PurlHTTP
import PurlTesting

extension GeneratedContent {
    private var digest: [UInt8] {
        var state = SHA256()
        state.update(data.bytes)
        return state.finalize()
    }

    /// SHA-256, hexadecimal.
    var sha256: String { SHA256.hexadecimal(digest) }

    /// SHA-256 as the value of `Repr-Digest` and `Content-Digest`.
    var digestField: String { "sha-256=:\(Data(digest).base64EncodedString()):" }
}
