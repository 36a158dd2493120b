internal import PurlHTTP
internal import PurlIO

/// How far a transfer has come in authenticating itself to one server, or one proxy.
///
/// A round begins with the first response that asks for credentials and ends with the first that does not. In between,
/// each refusal leads to the next thing to try: the same credential with a fresh nonce, what is known already (the URL,
/// the session's logins, the credential storage), then the delegate's answers.
@NetworkActor
struct AuthenticationRound {
    /// What the current request carries.
    enum Carried {
        case nothing
        /// The user's own field, which nothing replaces.
        case ownField
        /// - Parameter unasked: The server had not asked yet; it was known to want it.
        case login(Login, unasked: Bool)
    }

    /// How often a server may call a nonce too old before that counts as a refusal.
    private static let maximumRenewals = 3
    /// How often one credential is sent within a round.
    private static let maximumTries = 2

    var carried = Carried.nothing
    /// What the next request is to carry.
    var pending: Login?
    /// The login that the server has accepted from this task. The session does not know of it when its credential is for the task alone.
    private(set) var proven: Login?
    /// How many credentials the server has refused in this round.
    private(set) var failureCount = 0
    /// The last of them.
    private(set) var lastRefused: URLCredential?
    private var refusals: [UserAndPassword: Int] = [:]
    private var rejectedSpaces: Set<URLProtectionSpace> = []
    private var renewals = 0

    nonisolated init() {}

    /// What a refusal means for the login that the request carried.
    enum Refusal {
        /// The request carried none, or one for another part of the server.
        case none
        /// Only its nonce was refused: this one is sent.
        case again(Login)
        /// It is refused.
        case final(Login)
    }

    /// A response with these offers refuses what the request carried.
    mutating func refuse(with offers: [SupportedChallenge], at target: String) -> Refusal {
        guard case .login(let login, let unasked) = carried else { return .none }
        let offer = offers.first { $0.space == login.space }
        // The login was sent unasked, and the server wants one for another space: that proves nothing against it.
        if unasked, offer == nil { return .none }
        if let offer, case .digest(let challenge) = offer.scheme {
            if challenge.isStale, renewals < Self.maximumRenewals {
                renewals += 1
                login.renew(challenge)
                return .again(login)
            }
            // A server that has forgotten its nonce does not always mark the challenge as stale: one fresh try decides.
            if unasked, let fresh = login.again(offer, at: target) { return .again(fresh) }
        }
        failureCount += 1
        lastRefused = login.credential
        refusals[login.userAndPassword, default: 0] += 1
        return .final(login)
    }

    /// The first credential, of those that are known, with which an offer can be taken up. What has been refused once is
    /// not tried again unless the delegate gives it again, and not in a weaker scheme either.
    func login(
        for offers: [SupportedChallenge], from peer: AuthenticationPeer, at target: String,
        known: (SupportedChallenge) -> [(credential: URLCredential, source: Login.Source)]
    ) -> Login? {
        for offer in offers where !rejectedSpaces.contains(offer.space) {
            for (credential, source) in known(offer) {
                guard let userAndPassword = credential.userAndPassword, refusals[userAndPassword] == nil else {
                    continue
                }
                if let login = Login(offer, from: peer, credential, source, at: target) { return login }
            }
        }
        return nil
    }

    /// What the delegate may be asked about.
    func open(_ offers: [SupportedChallenge]) -> [SupportedChallenge] {
        offers.filter { !rejectedSpaces.contains($0.space) }
    }

    /// The delegate has rejected a space: it is not asked about it again.
    mutating func reject(_ space: URLProtectionSpace) {
        rejectedSpaces.insert(space)
    }

    /// Whether the delegate's credential may still be tried: a delegate that gives the same one each time must not repeat
    /// the request for ever.
    func mayTry(_ credential: URLCredential) -> Bool {
        guard let userAndPassword = credential.userAndPassword else { return false }
        return refusals[userAndPassword, default: 0] < Self.maximumTries
    }

    /// The server let the request pass.
    mutating func succeed(with login: Login?) {
        let proven = login ?? proven
        self = AuthenticationRound()
        self.proven = proven
    }
}

extension Login {
    /// A login of the same user for the current offer.
    fileprivate func again(_ offer: SupportedChallenge, at target: String) -> Login? {
        Login(offer, from: peer, credential, source, at: target)
    }
}
