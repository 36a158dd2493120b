/// What a server asks for with the scheme `Digest` (RFC 7616 §3.3).
package struct DigestChallenge: Sendable, Hashable {
    package var realm: String
    package var nonce: String
    /// To be sent back as it came.
    package var opaque: String?
    /// nil when the server names none: that means MD5, and the answer does not name it either.
    package var algorithm: DigestAlgorithm?
    /// Whether the server knows `qop=auth`. If not, it speaks the first version of the scheme (RFC 2069).
    package var offersAuth: Bool
    /// Whether the nonce alone was too old: the same user and password may be tried again.
    package var isStale: Bool
    /// Whether the user's name is to be hidden.
    package var hidesUser: Bool
    /// Whether the server says that it reads UTF-8.
    package var isUTF8: Bool

    /// nil for another scheme, without realm or nonce, for an unknown algorithm, and when the server insists on a
    /// protection of the body.
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
        // An empty list offers nothing, which is what no list means.
        if let qualities, !qualities.isEmpty, !offersAuth { return nil }
        isStale = challenge.parameter("stale")?.equalsIgnoringCase("true") ?? false
        hidesUser = challenge.parameter("userhash")?.equalsIgnoringCase("true") ?? false
        isUTF8 = challenge.parameter("charset")?.equalsIgnoringCase("utf-8") ?? false
    }

    /// The first challenge that can be answered: servers list them in the order of their preference
    /// (RFC 7616 §3.7).
    package static func first(in challenges: [Challenge]) -> DigestChallenge? {
        for challenge in challenges {
            if let digest = DigestChallenge(challenge) { return digest }
        }
        return nil
    }
}
