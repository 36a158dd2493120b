internal import PurlHTTP
internal import PurlIO

/// One user at one protection space, and the proof that goes with each request. Tasks of a session share it, so that no
/// two requests count a nonce alike.
@NetworkActor
final class Login {
    /// Where the credential came from.
    enum Source: Sendable {
        case url
        case storage
        case delegate
    }

    private enum Proof {
        /// The value of the field.
        case basic(String)
        case digest(DigestResponse)
    }

    /// A server that names more gets proof for the first of them unasked.
    nonisolated static let maximumPaths = 16

    let challenger: Challenger
    let space: URLProtectionSpace
    let credential: URLCredential
    let secret: Secret
    var source: Source
    private var proof: Proof
    /// Paths below which the server is known to want this login.
    private(set) var paths: [String]

    /// `nil` when the credential cannot be sent in the scheme of the offer.
    ///
    /// - Parameter target: What the request that was refused had asked for.
    init?(_ offer: Offer, from challenger: Challenger, _ credential: URLCredential, _ source: Source, at target: String)
    {
        guard let secret = credential.provable, let proof = Self.prove(secret, to: offer.scheme) else { return nil }
        self.challenger = challenger
        space = offer.space
        self.credential = credential
        self.secret = secret
        self.source = source
        self.proof = proof
        // RFC 7617 §2.2: what lies in the same folder, or below it, is taken to be in the same space.
        paths = offer.paths ?? [Self.folder(of: target)]
    }

    private static func prove(_ secret: Secret, to scheme: Offer.Scheme) -> Proof? {
        switch scheme {
        case .basic:
            BasicCredentials(user: secret.user, password: secret.password).map { .basic($0.authorization) }
        case .digest(let challenge):
            .digest(DigestResponse(challenge, user: secret.user, password: secret.password))
        }
    }

    /// The value of the field for one request, which counts it.
    func proof(method: RequestMethod, target: String) -> String {
        switch proof {
        case .basic(let value):
            return value
        case .digest(var response):
            let value = response.authorization(method: method, uri: target, clientNonce: Self.makeNonce())
            proof = .digest(response)
            return value
        }
    }

    /// The nonce had become too old.
    func renew(_ challenge: DigestChallenge) {
        proof = .digest(DigestResponse(challenge, user: secret.user, password: secret.password))
    }

    /// The server has named the nonce of the next request.
    func use(nextNonce: String) {
        guard case .digest(var response) = proof else { return }
        response.use(nextNonce: nextNonce)
        proof = .digest(response)
    }

    /// Whether the server is known to want it there, and how exactly it is known: the length of the path that says so.
    func reach(to target: String) -> Int? {
        paths.lazy.filter { target.hasPrefix($0) }.map(\.utf8.count).max()
    }

    /// Takes over where another login to the same space was wanted.
    func addPaths(of other: Login) {
        for path in other.paths where paths.count < Self.maximumPaths && reach(to: path) == nil { paths.append(path) }
    }

    private static func folder(of target: String) -> String {
        let path = target.prefix { $0 != "?" }
        return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    }

    /// 128 bits that nobody can guess.
    private static func makeNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}
