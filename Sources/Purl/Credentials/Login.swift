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

    let peer: AuthenticationPeer
    let space: URLProtectionSpace
    let credential: URLCredential
    let userAndPassword: UserAndPassword
    private(set) var source: Source
    private var proof: Proof
    /// Paths below which the server is known to want this login.
    private(set) var paths: [String]

    /// `nil` when the credential cannot be sent in the scheme of the offer.
    ///
    /// - Parameter target: What the request that was refused had asked for.
    init?(
        _ offer: SupportedChallenge, from peer: AuthenticationPeer, _ credential: URLCredential, _ source: Source,
        at target: String
    ) {
        guard let userAndPassword = credential.userAndPassword,
            let proof = Self.prove(userAndPassword, to: offer.scheme)
        else { return nil }
        self.peer = peer
        space = offer.space
        self.credential = credential
        self.userAndPassword = userAndPassword
        self.source = source
        self.proof = proof
        // RFC 7617 §2.2: what lies in the same folder, or below it, is taken to be in the same space.
        paths = offer.paths ?? [Self.folder(of: target)]
    }

    private static func prove(_ userAndPassword: UserAndPassword, to scheme: SupportedChallenge.Scheme) -> Proof? {
        switch scheme {
        case .basic:
            BasicCredentials(user: userAndPassword.user, password: userAndPassword.password).map {
                .basic($0.authorization)
            }
        case .digest(let challenge):
            .digest(DigestResponse(challenge, user: userAndPassword.user, password: userAndPassword.password))
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

    /// The credential is in the storage now: it is used for as long as it is there.
    func becomeStored() {
        source = .storage
    }

    /// The nonce had become too old.
    func renew(_ challenge: DigestChallenge) {
        proof = .digest(DigestResponse(challenge, user: userAndPassword.user, password: userAndPassword.password))
    }

    /// The server has named the nonce of the next request.
    func use(nextNonce: String) {
        guard case .digest(var response) = proof else { return }
        response.use(nextNonce: nextNonce)
        proof = .digest(response)
    }

    /// Whether the server is known to want it there, and how exactly it is known: the length of the path that says so.
    func matchingPathLength(for target: String) -> Int? {
        paths.lazy.filter { target.hasPrefix($0) }.map(\.utf8.count).max()
    }

    /// Takes over where another login to the same space was wanted.
    func addPaths(of other: Login) {
        for path in other.paths where paths.count < Self.maximumPaths && matchingPathLength(for: path) == nil {
            paths.append(path)
        }
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

/// What a session knows of its servers: who has been let in, and where. Later requests there carry the proof unasked.
@NetworkActor
final class LoginCache {
    /// A server that invents realms makes a session remember so many, and no more.
    private static let maximumPerChallenger = 16

    /// The latest last.
    private var logins: [AuthenticationPeer: [Login]] = [:]

    nonisolated init() {}

    var isEmpty: Bool { logins.isEmpty }

    func logins(at peer: AuthenticationPeer) -> [Login] { logins[peer] ?? [] }

    /// The login that a request for `target` needs, as far as is known; the longest path knows best, then the latest.
    func login(
        at peer: AuthenticationPeer, target: String, where isUsable: (Login) -> Bool
    ) -> Login? {
        var best: (login: Login, reach: Int)?
        for login in logins(at: peer) {
            guard let reach = login.matchingPathLength(for: target), reach >= best?.reach ?? 0, isUsable(login) else {
                continue
            }
            best = (login, reach)
        }
        return best?.login
    }

    /// Remembers a login that was let in, in place of an older one to the same space.
    func store(_ login: Login) {
        var known = logins(at: login.peer)
        if known.last === login { return }
        if let place = known.firstIndex(where: { $0.space == login.space }) {
            if known[place] !== login, known[place].userAndPassword == login.userAndPassword {
                login.addPaths(of: known[place])
            }
            known.remove(at: place)
        }
        known.append(login)
        logins[login.peer] = known.suffix(Self.maximumPerChallenger)
    }

    /// Forgets a login that was refused, or whose user has gone.
    func remove(_ login: Login) {
        logins[login.peer]?.removeAll { $0 === login }
        if logins[login.peer]?.isEmpty == true { logins[login.peer] = nil }
    }

    func removeAll() {
        logins = [:]
    }
}
