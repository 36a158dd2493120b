internal import PurlHTTP
internal import PurlIO

/// One user's credential for one protection space, and the proof that each request carries.
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

    /// Of a server that names more paths, requests to these carry the proof unasked.
    nonisolated static let maximumPaths = 16

    let peer: AuthenticationPeer
    let space: URLProtectionSpace
    let credential: URLCredential
    let userAndPassword: UserAndPassword
    private(set) var source: Source
    private var proof: Proof
    /// Paths below which the server is known to require this login.
    private(set) var paths: [String]

    /// `nil` when the credential cannot be sent in the scheme of the challenge.
    ///
    /// - Parameter target: The target of the request that was challenged.
    init?(
        _ challenge: SupportedChallenge, from peer: AuthenticationPeer, _ credential: URLCredential, _ source: Source,
        at target: String
    ) {
        guard let userAndPassword = credential.userAndPassword,
            let proof = Self.prove(userAndPassword, to: challenge.scheme)
        else { return nil }
        self.peer = peer
        space = challenge.space
        self.credential = credential
        self.userAndPassword = userAndPassword
        self.source = source
        self.proof = proof
        // RFC 7617 §2.2: paths in the same folder, or below it, are taken to be in the same space.
        paths = challenge.paths ?? [Self.folder(of: target)]
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

    /// The value of the credentials' field for one request, which counts as a use of the nonce.
    ///
    /// - Parameter nonces: Those that the session's requests have used.
    func proof(method: RequestMethod, target: String, counting nonces: NonceCounts) -> String {
        switch proof {
        case .basic(let value):
            return value
        case .digest(var response):
            let value = response.authorization(
                method: method, uri: target, clientNonce: Self.makeNonce(),
                nonceCount: nonces.countUse(of: response.challenge.nonce, at: peer))
            proof = .digest(response)
            return value
        }
    }

    /// The credential is in the storage now: it is used for as long as it is there.
    func becomeStored() {
        source = .storage
    }

    /// Begins with a new nonce: the last one was stale.
    func renew(_ challenge: DigestChallenge) {
        proof = .digest(DigestResponse(challenge, user: userAndPassword.user, password: userAndPassword.password))
    }

    /// Uses the nonce that the server has named for the next request.
    func use(nextNonce: String) {
        guard case .digest(var response) = proof else { return }
        response.use(nextNonce: nextNonce)
        proof = .digest(response)
    }

    /// The length of the longest path of the login that begins `target`; `nil` when the server is not known to require
    /// it there.
    func matchingPathLength(for target: String) -> Int? {
        paths.lazy.filter { target.hasPrefix($0) }.map(\.utf8.count).max()
    }

    /// Adds the paths at which another login to the same space was required.
    func addPaths(of other: Login) {
        for path in other.paths where paths.count < Self.maximumPaths && matchingPathLength(for: path) == nil {
            paths.append(path)
        }
    }

    private static func folder(of target: String) -> String {
        let path = target.prefix { $0 != "?" }
        return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    }

    /// 128 random bits.
    private static func makeNonce() -> String {
        let generator = Randomness()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}

/// How many of a session's requests have used each nonce: a server takes a count that it has seen for a replay, whichever
/// login the request belongs to (RFC 7616 §3.4).
@NetworkActor
final class NonceCounts {
    /// Bounds what servers that invent nonces make a session remember.
    private static let maximum = 256

    /// The one that was used last at the end.
    private var uses: [(nonce: String, peer: AuthenticationPeer, count: UInt32)] = []

    nonisolated init() {}

    /// Counts a request. Returns how many have used the nonce, this one included.
    func countUse(of nonce: String, at peer: AuthenticationPeer) -> UInt32 {
        var count: UInt32 = 0
        if let place = uses.lastIndex(where: { $0.nonce == nonce && $0.peer == peer }) {
            count = uses.remove(at: place).count
        } else if uses.count == Self.maximum {
            uses.removeFirst()
        }
        count &+= 1
        uses.append((nonce, peer, count))
        return count
    }
}

/// The logins that a session's servers have accepted. Later requests below their paths carry the proof unasked.
@NetworkActor
final class LoginCache {
    /// Bounds what a server that invents realms makes a session remember.
    private static let maximumPerPeer = 16

    /// What the requests of the logins have used, also of those that were refused or are for one task alone.
    let nonces = NonceCounts()
    /// Of each peer, the latest last.
    private var logins: [AuthenticationPeer: [Login]] = [:]

    nonisolated init() {}

    var isEmpty: Bool { logins.isEmpty }

    func logins(at peer: AuthenticationPeer) -> [Login] { logins[peer] ?? [] }

    /// The login that a request for `target` is known to need: the one with the longest path, then the latest.
    func login(
        at peer: AuthenticationPeer, target: String, where isUsable: (Login) -> Bool
    ) -> Login? {
        var best: (login: Login, length: Int)?
        for login in logins(at: peer) {
            guard let length = login.matchingPathLength(for: target), length >= best?.length ?? 0, isUsable(login)
            else {
                continue
            }
            best = (login, length)
        }
        return best?.login
    }

    /// Stores a login that was accepted, in place of an older one to the same space.
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
        logins[login.peer] = known.suffix(Self.maximumPerPeer)
    }

    /// Removes a login that was refused, or whose credential is no longer in the storage.
    func remove(_ login: Login) {
        logins[login.peer]?.removeAll { $0 === login }
        if logins[login.peer]?.isEmpty == true { logins[login.peer] = nil }
    }

    func removeAll() {
        logins = [:]
    }
}
