import Foundation
import Purl
internal import PurlHTTP

/// What a response says of its bytes (RFC 9530), hexadecimal.
struct ServerDigests {
    /// Of the whole representation, however much of it this response brings.
    let representation: String?
    /// Of what this response brings: of the file, when it brings all of it.
    let content: String?

    init(_ response: HTTPURLResponse) {
        representation = Self.sha256(response, "Repr-Digest")
        content = Self.sha256(response, "Content-Digest")
    }

    private static func sha256(_ response: HTTPURLResponse, _ field: String) -> String? {
        response.value(forHTTPHeaderField: field).flatMap(DigestField.sha256).map(SHA256.hexadecimal)
    }
}
