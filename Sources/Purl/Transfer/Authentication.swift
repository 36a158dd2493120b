internal import PurlHTTP
internal import PurlIO

/// How far one task has come in proving to one server, or one proxy, who is asking.
///
/// A round begins with the first response that asks for credentials and ends with the first that does not. In between,
/// each refusal leads to the next thing to try: the same credential with a fresh nonce, what is known already (the URL,
/// the session's logins, the credential storage), then the delegate's answers.
@NetworkActor
struct Authentication {
    /// What the request of the moment says about who asks.
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
    /// What the server took from this task. The session does not know of it when its credential is for the task alone.
    private(set) var proven: Login?
    /// How many credentials the server has refused in this round.
    private(set) var failureCount = 0
    /// The last of them.
    private(set) var lastRefused: URLCredential?
    private var refusals: [Secret: Int] = [:]
    private var rejectedSpaces: Set<URLProtectionSpace> = []
    private var renewals = 0

    nonisolated init() {}

    /// What became of the login that the refused request carried.
    enum Refusal {
        /// The request carried none, or one for another part of the server.
        case none
        /// It is good, only its nonce was not: send this one.
        case again(Login)
        /// It is good no longer, or never was.
        case final(Login)
    }

    /// A response with these offers refuses what the request carried.
    mutating func refuse(with offers: [Offer], at target: String) -> Refusal {
        guard case .login(let login, let unasked) = carried else { return .none }
        let offer = offers.first { $0.space == login.space }
        // What had been a guess was wrong: the server wants somebody for this place, but not this one.
        if unasked, offer == nil { return .none }
        if let offer, case .digest(let challenge) = offer.scheme {
            if challenge.isStale, renewals < Self.maximumRenewals {
                renewals += 1
                login.renew(challenge)
                return .again(login)
            }
            // A server that has forgotten its nonce does not always say so. One fresh try will tell.
            if unasked, let fresh = login.again(offer, at: target) { return .again(fresh) }
        }
        failureCount += 1
        lastRefused = login.credential
        refusals[login.secret, default: 0] += 1
        return .final(login)
    }

    /// The first credential, of those that are known, with which an offer can be taken up. What has been refused once is
    /// not tried again unless the delegate says so, and not in a weaker scheme either.
    func login(
        for offers: [Offer], from challenger: Challenger, at target: String,
        known: (Offer) -> [(credential: URLCredential, source: Login.Source)]
    ) -> Login? {
        for offer in offers where !rejectedSpaces.contains(offer.space) {
            for (credential, source) in known(offer) {
                guard let secret = credential.provable, refusals[secret] == nil else { continue }
                if let login = Login(offer, from: challenger, credential, source, at: target) { return login }
            }
        }
        return nil
    }

    /// What the delegate may be asked about.
    func open(_ offers: [Offer]) -> [Offer] {
        offers.filter { !rejectedSpaces.contains($0.space) }
    }

    /// The delegate wants to hear no more of a space.
    mutating func reject(_ space: URLProtectionSpace) {
        rejectedSpaces.insert(space)
    }

    /// Whether the delegate's credential may still be tried: somebody who gives the same one over and over would never
    /// come to an end.
    func mayTry(_ credential: URLCredential) -> Bool {
        guard let secret = credential.provable else { return false }
        return refusals[secret, default: 0] < Self.maximumTries
    }

    /// The server let the request pass.
    mutating func succeed(with login: Login?) {
        let proven = login ?? proven
        self = Authentication()
        self.proven = proven
    }
}

extension Login {
    /// The same user with an answer to the offer of the moment.
    fileprivate func again(_ offer: Offer, at target: String) -> Login? {
        Login(offer, from: challenger, credential, source, at: target)
    }
}
