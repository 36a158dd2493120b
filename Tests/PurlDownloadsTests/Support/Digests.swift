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

    /// The same of some of its bytes.
    func digestField(of range: Range<Int>) -> String {
        var state = SHA256()
        state.update(bytes(range).bytes)
        return "sha-256=:\(Data(state.finalize()).base64EncodedString()):"
    }
}
