/// A challenge of the scheme `Digest` (RFC 7616 §3.3).
package struct DigestChallenge: Sendable, Hashable {
    package var realm: String
    package var nonce: String
    /// The client sends it back unchanged.
    package var opaque: String?
    /// nil when the server names none: that means MD5, and the response does not name it either.
    package var algorithm: DigestAlgorithm?
    /// Whether the server offers `qop=auth`. If not, it uses the first version of the scheme (RFC 2069).
    package var offersAuth: Bool
    /// Whether only the nonce was too old: the client may retry with the same user and password.
    package var isStale: Bool
    /// Whether the client sends a hash of the user's name.
    package var hidesUser: Bool
    /// Whether the server declares that it reads UTF-8.
    package var isUTF8: Bool

    /// Reads a challenge; nil for another scheme, without realm or nonce, for an unknown algorithm, and when the server
    /// requires protection of the body.
    package init?(_ challenge: Challenge) {
        guard challenge.isScheme("digest"), let realm = challenge.realm, let nonce = challenge.parameter("nonce")
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = challenge.parameter("opaque")
        if let name = challenge.parameter("algorithm") {
            guard let known = DigestAlgorithm(name) else { return nil }
            algorithm = known
        }
        let qualities = challenge.parameter("qop").map {
            $0.utf8.split(separator: .comma).map { String(decoding: $0.trimmingBlanks(), as: UTF8.self) }
        }
        offersAuth = qualities?.contains { $0.equalsIgnoringCase("auth") } ?? false
        // An empty list means the same as none.
        if let qualities, !qualities.isEmpty, !offersAuth { return nil }
        isStale = challenge.parameter("stale")?.equalsIgnoringCase("true") ?? false
        hidesUser = challenge.parameter("userhash")?.equalsIgnoringCase("true") ?? false
        isUTF8 = challenge.parameter("charset")?.equalsIgnoringCase("utf-8") ?? false
    }

    /// The first challenge that can be answered: servers list them in order of preference
    /// (RFC 7616 §3.7).
    package static func first(in challenges: [Challenge]) -> DigestChallenge? {
        for challenge in challenges {
            if let digest = DigestChallenge(challenge) { return digest }
        }
        return nil
    }
}

/// The hash of a digest challenge (RFC 7616 §3.3).
package enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    case md5
    case md5Session
    case sha256
    case sha256Session

    /// nil for an unknown algorithm.
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

    /// Whether the key is hashed with the first nonces, for a whole session.
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
            return SHA256.hexadecimal(of: RawSpan(_elements: bytes.span))
        }
    }
}
