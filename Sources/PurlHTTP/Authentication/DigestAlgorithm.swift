/// The hash of a digest challenge (RFC 7616 §3.3).
package enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    case md5
    case md5Session
    case sha256
    case sha256Session

    /// nil for an algorithm that Purl does not know.
    package init?(_ name: String) {
        let known = DigestAlgorithm.allCases.first { $0.name.equalsIgnoringCase(name) }
        guard let known else { return nil }
        self = known
    }

    /// As it goes on the wire.
    package var name: String {
        switch self {
        case .md5: "MD5"
        case .md5Session: "MD5-sess"
        case .sha256: "SHA-256"
        case .sha256Session: "SHA-256-sess"
        }
    }

    /// Whether the secret is mixed with the first nonces, for a whole session.
    package var isSession: Bool {
        switch self {
        case .md5, .sha256: false
        case .md5Session, .sha256Session: true
        }
    }

    /// The digest of the text in UTF-8, in hexadecimal.
    func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        switch self {
        case .md5, .md5Session:
            var digest = MD5()
            digest.update(RawSpan(_elements: bytes.span))
            return SHA256.hexadecimal(digest.finalize())
        case .sha256, .sha256Session:
            var digest = SHA256()
            digest.update(RawSpan(_elements: bytes.span))
            return SHA256.hexadecimal(digest.finalize())
        }
    }
}
