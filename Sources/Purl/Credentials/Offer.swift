internal import PurlHTTP

/// A challenge that can be answered here: what a server takes as proof.
struct Offer: Sendable {
    enum Scheme: Sendable {
        case basic
        case digest(DigestChallenge)
    }

    let scheme: Scheme
    let space: URLProtectionSpace
    /// Where the proof is good too: paths that begin with one of these.
    let paths: [String]?

    /// What a response offers, the safest first, one for each protection space.
    static func all(in fields: HeaderFields, from challenger: Challenger) -> [Offer] {
        let offers = Challenge.all(in: fields, challenger.challengeField).compactMap { Offer($0, from: challenger) }
        var best: [Offer] = []
        for strength in Strength.allCases {
            for offer in offers where offer.strength == strength && !best.contains(where: { $0.space == offer.space }) {
                best.append(offer)
            }
        }
        return best
    }

    private init?(_ challenge: Challenge, from challenger: Challenger) {
        if let digest = DigestChallenge(challenge) {
            scheme = .digest(digest)
            space = challenger.space(realm: digest.realm, method: NSURLAuthenticationMethodHTTPDigest)
            paths =
                challenger.role == .proxy
                ? Self.everywhere : challenge.parameter("domain").map(Self.paths(in:)) ?? ["/"]
        } else if challenge.isScheme("basic") {
            scheme = .basic
            space = challenger.space(realm: challenge.realm, method: NSURLAuthenticationMethodHTTPBasic)
            paths = challenger.role == .proxy ? Self.everywhere : nil
        } else {
            return nil
        }
    }

    /// A proxy has one protection space for all that is behind it (RFC 9110 §11.7.3). Every target begins with nothing.
    private static let everywhere = [""]

    /// RFC 7616 §3.3: a list of URIs with blanks between; those of other servers are not for us to trust.
    private static func paths(in domain: String) -> [String] {
        let paths = domain.split(separator: " ").filter { $0.hasPrefix("/") && !$0.hasPrefix("//") }
        return paths.prefix(Login.maximumPaths).map { String($0) }
    }

    private enum Strength: CaseIterable {
        case sha256, md5, plain
    }

    private var strength: Strength {
        switch scheme {
        case .basic: .plain
        case .digest(let challenge):
            switch challenge.algorithm {
            case .sha256, .sha256Session: .sha256
            case .md5, .md5Session, nil: .md5
            }
        }
    }
}
