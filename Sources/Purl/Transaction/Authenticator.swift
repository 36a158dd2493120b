import Foundation
internal import PurlHTTP
internal import PurlIO

/// Authenticates a transfer's requests to servers and proxies (RFC 9110 §11): adds what is known to be wanted, and decides
/// what follows from a challenge.
@NetworkActor
struct Authenticator {
    /// What follows from a challenge.
    enum Step {
        /// The request is sent again with this login.
        case resend(Login)
        /// The delegate is asked about these schemes, one after another.
        case ask([SupportedChallenge])
        /// There is no other credential to try: the response is the result.
        case decline
    }

    /// The users that a request's URL and the configuration of its proxy name.
    struct NamedUsers {
        var mayCarrySecrets: Bool
        var url: URL?
        var route: Route

        /// The user that is named for a server or a proxy.
        func user(for peer: AuthenticationPeer) -> (user: String, password: String?)? {
            switch (peer.role, route) {
            case (.server, _): url?.user(percentEncoded: false).map { ($0, url?.password(percentEncoded: false)) }
            case (.proxy, .proxy(let proxy)): proxy.user.map { ($0, proxy.password) }
            // A SOCKS proxy asks in its own handshake.
            case (.proxy, .direct), (.proxy, .socks): nil
            }
        }

        /// Their credential, if both a user and a password are named.
        func credential(for peer: AuthenticationPeer) -> URLCredential? {
            guard let named = user(for: peer), let password = named.password else { return nil }
            return URLCredential(user: named.user, password: password, persistence: .forSession)
        }
    }

    /// What a credential storage has for the challenges of a response.
    struct StoredCredentials: Sendable {
        private var spaces: [URLProtectionSpace: (users: [String: URLCredential], standard: URLCredential?)] = [:]

        /// Nothing is stored.
        nonisolated init() {}

        /// Asks a storage, which runs code of the user's where it is a subclass of the user's.
        nonisolated init(for offers: [SupportedChallenge], in storage: URLCredentialStorage) {
            for offer in offers {
                for space in [offer.space, offer.space.withDefaultMethod] {
                    spaces[space] = (storage.credentials(for: space) ?? [:], storage.defaultCredential(for: space))
                }
            }
        }

        /// The credential of a user, or of none in particular.
        func credential(for space: URLProtectionSpace, user: String?) -> URLCredential? {
            guard let stored = spaces[space] else { return nil }
            guard let user else { return stored.standard }
            return stored.users[user]
        }
    }

    private var rounds: [AuthenticationPeer: AuthenticationRound] = [:]

    /// The round with one peer, as far as it has come.
    func round(with peer: AuthenticationPeer) -> AuthenticationRound { rounds[peer] ?? AuthenticationRound() }

    /// A redirect has led to another origin, which receives no credentials of the last one.
    mutating func forgetServers() {
        rounds = rounds.filter { $0.key.role == .proxy }
    }

    // MARK: The request

    /// Adds the credentials that a server, or a proxy, is known to want. A field of the user's own stays as it is.
    ///
    /// - Parameter target: The request's target as it reaches the peer.
    mutating func addCredentials(
        to head: inout RequestHead, for peer: AuthenticationPeer, target: String, in session: URLSession,
        _ users: @autoclosure () -> NamedUsers
    ) {
        let field = peer.credentialField
        guard !head.fields.contains(field) else {
            rounds[peer, default: AuthenticationRound()].carried = .ownField
            return
        }
        guard !rounds.isEmpty || !session.logins.isEmpty, case let users = users(), users.mayCarrySecrets else {
            return
        }
        var round = round(with: peer)
        if let login = round.pending {
            round.carried = .login(login, unasked: false)
        } else if let login = knownLogin(round.proven, to: peer, target: target, in: session, users) {
            round.carried = .login(login, unasked: true)
        } else {
            round.carried = .nothing
        }
        if case .login(let login, _) = round.carried {
            head.fields.append(field, login.proof(method: head.method, target: target, counting: session.logins.nonces))
        }
        rounds[peer] = round
    }

    private func knownLogin(
        _ proven: Login?, to peer: AuthenticationPeer, target: String, in session: URLSession, _ users: NamedUsers
    ) -> Login? {
        if let proven, proven.matchingPathLength(for: target) != nil, isStillKnown(proven, in: session) {
            return proven
        }
        return session.logins.login(at: peer, target: target) {
            agrees($0, with: users) && isStillKnown($0, in: session)
        }
    }

    /// Where a URL names a user, no other user's login is sent.
    private func agrees(_ login: Login, with users: NamedUsers) -> Bool {
        guard let named = users.user(for: login.peer) else { return true }
        return login.userAndPassword
            == UserAndPassword(user: named.user, password: named.password ?? login.userAndPassword.password)
    }

    /// A credential that has been removed from the storage is not used any more. A storage of the user's own is not asked
    /// before each request: what it has removed is used until a server refuses it.
    private func isStillKnown(_ login: Login, in session: URLSession) -> Bool {
        switch login.source {
        case .url, .delegate:
            return true
        case .storage:
            guard let storage = session.settings.urlCredentialStorage, !storage.isSubclass else { return true }
            let isKnown = [login.space, login.space.withDefaultMethod].contains { space in
                storage.credentials(for: space)?[login.userAndPassword.user]?.userAndPassword == login.userAndPassword
            }
            if !isKnown { session.logins.remove(login) }
            return isKnown
        }
    }

    // MARK: The response

    /// The credentials that the request carried were right, except for the peer that asks for more. A failure of the server
    /// itself proves nothing, and a proxy that asks has not asked the server.
    mutating func concludeRound(_ head: ResponseHead, asking: AuthenticationPeer?, in session: URLSession) {
        guard !rounds.isEmpty, head.status < 500, asking?.role != .proxy else { return }
        for (peer, round) in rounds where peer.role != asking?.role {
            guard case .login(let login, _) = round.carried else { continue }
            rounds[peer]?.succeed(with: login)
            if let nonce = AuthenticationInfo(head.fields, peer.infoField).nextNonce {
                login.use(nextNonce: nonce)
            }
            guard login.credential.persistence != .none else { continue }
            if login.source == .delegate, let storage = session.settings.urlCredentialStorage {
                // What was the default before has been tried and refused.
                let (credential, space) = (login.credential, login.space)
                if storage.isSubclass {
                    Worker.shared.run(on: .userCode) { storage.setDefaultCredential(credential, for: space) }
                } else {
                    storage.setDefaultCredential(credential, for: space)
                }
                login.becomeStored()
            }
            session.logins.store(login)
        }
    }

    /// Decides what follows from a challenge: the next login, a question to the delegate, or nothing.
    ///
    /// - Parameters:
    ///   - peer: The server or the proxy that has sent it.
    ///   - offers: The challenges of its response.
    ///   - stored: What the credential storage has for them.
    ///   - target: That of the request.
    mutating func step(
        afterChallengeFrom peer: AuthenticationPeer, _ offers: [SupportedChallenge], _ stored: StoredCredentials,
        target: String, in session: URLSession, _ users: NamedUsers
    ) -> Step {
        var round = round(with: peer)
        if case .ownField = round.carried { return .decline }
        let refusal = round.refuse(with: offers, at: target)
        round.pending = nil
        rounds[peer] = round
        switch refusal {
        case .none: break
        case .again(let login): return .resend(login)
        case .final(let login): session.logins.remove(login)
        }
        let known = round.login(for: offers, from: peer, at: target) { offer in
            credentials(for: offer, stored, proven: round.proven, from: peer, in: session, users)
        }
        if let known { return .resend(known) }
        return .ask(round.open(offers))
    }

    /// The next request carries this login.
    mutating func prepare(_ login: Login, for peer: AuthenticationPeer) {
        rounds[peer]?.pending = login
    }

    /// The delegate wants no more of a protection space.
    mutating func reject(_ space: URLProtectionSpace, of peer: AuthenticationPeer) {
        rounds[peer]?.reject(space)
    }

    /// What can be tried without asking: the URL's user comes before those of earlier requests, those before the storage's.
    private func credentials(
        for offer: SupportedChallenge, _ stored: StoredCredentials, proven: Login?, from peer: AuthenticationPeer,
        in session: URLSession, _ users: NamedUsers
    ) -> [(credential: URLCredential, source: Login.Source)] {
        var known: [(credential: URLCredential, source: Login.Source)] = []
        if let named = users.credential(for: peer) { known.append((named, .url)) }
        let logins = session.logins.logins(at: peer).reversed() + (proven.map { [$0] } ?? [])
        for login in logins
        where login.space == offer.space && agrees(login, with: users) && isStillKnown(login, in: session) {
            known.append((login.credential, login.source))
        }
        let user = users.user(for: peer)?.user
        for space in [offer.space, offer.space.withDefaultMethod] {
            if let found = stored.credential(for: space, user: user) { known.append((found, .storage)) }
        }
        return known
    }
}
