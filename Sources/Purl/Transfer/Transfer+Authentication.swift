import Foundation
internal import PurlHTTP
internal import PurlIO

/// How a transfer proves who is asking (RFC 9110 §11).
extension Transfer {
    // MARK: The request

    /// Adds what the server, or a proxy, is known to want. A field of the user's own is left as it is.
    ///
    /// - Parameter target: The request's target as it reaches them.
    func authenticate(_ head: inout RequestHead, to challenger: Challenger, target: String) {
        let field = challenger.credentialField
        guard !head.fields.contains(field) else {
            authentications[challenger, default: Authentication()].carried = .ownField
            return
        }
        guard !authentications.isEmpty || !session.logins.isEmpty, mayCarrySecrets else { return }
        var authentication = authentications[challenger] ?? Authentication()
        if let login = authentication.pending {
            authentication.carried = .login(login, unasked: false)
        } else if let login = knownLogin(authentication.proven, to: challenger, target: target) {
            authentication.carried = .login(login, unasked: true)
        } else {
            authentication.carried = .nothing
        }
        if case .login(let login, _) = authentication.carried {
            head.fields.append(field, login.proof(method: head.method, target: target))
        }
        authentications[challenger] = authentication
    }

    private func knownLogin(_ proven: Login?, to challenger: Challenger, target: String) -> Login? {
        if let proven, proven.reach(to: target) != nil, isStillKnown(proven) { return proven }
        return session.logins.login(at: challenger, target: target) { mayStandIn($0) && isStillKnown($0) }
    }

    /// A URL that names somebody means nobody else.
    private func mayStandIn(_ login: Login) -> Bool {
        guard let named = named(for: login.challenger) else { return true }
        return login.secret == Secret(user: named.user, password: named.password ?? login.secret.password)
    }

    /// Whoever removes a credential from the storage wants it to be used no more.
    private func isStillKnown(_ login: Login) -> Bool {
        switch login.source {
        case .url, .delegate:
            return true
        case .storage:
            guard let storage = session.settings.urlCredentialStorage else { return true }
            let isKnown = [login.space, login.space.withDefaultMethod].contains { space in
                storage.credentials(for: space)?[login.secret.user]?.provable == login.secret
            }
            if !isKnown { session.logins.forget(login) }
            return isKnown
        }
    }

    /// RFC 9110 §9.3.8: the answer to TRACE is the request, for whoever can read it. Only what the user says of himself
    /// goes out with it.
    var mayCarrySecrets: Bool { request.httpMethod != "TRACE" }

    // MARK: The response

    /// Who asks for credentials with this response. A 407 counts only when there is a proxy: a server that sends one
    /// gets nothing for it.
    func challenger(of head: ResponseHead) -> Challenger? {
        guard mayCarrySecrets else { return nil }
        return switch head.status {
        case 401: (try? RequestTarget(request.url)).map { .server($0.origin) }
        case 407: proxy.map { .proxy($0.endpoint) }
        default: nil
        }
    }

    /// What the request carried was good, except for whoever asks for more. A failure of the server itself says nothing,
    /// and a proxy that asks has not asked the server.
    func concludeAuthentication(_ head: ResponseHead, asking: Challenger?) {
        guard !authentications.isEmpty, head.status < 500, asking?.role != .proxy else { return }
        for (challenger, authentication) in authentications where challenger.role != asking?.role {
            guard case .login(let login, _) = authentication.carried else { continue }
            authentications[challenger]?.succeed(with: login)
            if let nonce = AuthenticationInfo(head.fields, challenger.infoField).nextNonce {
                login.use(nextNonce: nonce)
            }
            guard login.credential.persistence != .none else { continue }
            if login.source == .delegate, let storage = session.settings.urlCredentialStorage {
                // What was the default before has been tried and refused.
                storage.setDefaultCredential(login.credential, for: login.space)
                login.source = .storage
            }
            session.logins.keep(login)
        }
    }

    /// The response asks for credentials: sends the request again with some, or takes the response as the result.
    func reply(to challenger: Challenger, _ answer: Answer) {
        let exchange = Challenged(
            challenger: challenger, answer: answer, target: (try? RequestTarget(request.url))?.originForm ?? "/")
        var authentication = authentications[challenger] ?? Authentication()
        let offers = Offer.all(in: answer.head.fields, from: challenger)
        if case .ownField = authentication.carried { return decline(exchange) }
        let refusal = authentication.refuse(with: offers, at: exchange.target)
        authentication.pending = nil
        authentications[challenger] = authentication
        switch refusal {
        case .none: break
        case .again(let login): return resend(login, exchange)
        case .final(let login): session.logins.forget(login)
        }
        let known = authentication.login(for: offers, from: challenger, at: exchange.target) { offer in
            credentials(for: offer, proven: authentication.proven, from: challenger)
        }
        if let known { return resend(known, exchange) }
        ask(authentication.open(offers), exchange)
    }

    /// A response that asks for credentials, and what it was a response to.
    private struct Challenged {
        let challenger: Challenger
        let answer: Answer
        let target: String
    }

    /// What can be tried without asking: the URL's user goes before those of earlier requests, those before the storage's.
    private func credentials(
        for offer: Offer, proven: Login?, from challenger: Challenger
    ) -> [(credential: URLCredential, source: Login.Source)] {
        var known: [(credential: URLCredential, source: Login.Source)] = []
        if let named = namedCredential(for: challenger) { known.append((named, .url)) }
        let logins = session.logins.logins(at: challenger).reversed() + (proven.map { [$0] } ?? [])
        for login in logins where login.space == offer.space && mayStandIn(login) && isStillKnown(login) {
            known.append((login.credential, login.source))
        }
        guard let storage = session.settings.urlCredentialStorage else { return known }
        let user = named(for: challenger)?.user
        for space in [offer.space, offer.space.withDefaultMethod] {
            let stored = user.map { storage.credentials(for: space)?[$0] } ?? storage.defaultCredential(for: space)
            if let stored { known.append((stored, .storage)) }
        }
        return known
    }

    /// The URL that says who asks: that of the request, or of the one that was redirected within its origin. A server
    /// that redirects to another does not decide who asks there.
    private var namingURL: URL? {
        guard !hasLeftOrigin else { return nil }
        return [request.url, task.originalRequest?.url].lazy.compactMap { $0 }
            .first { $0.user(percentEncoded: false)?.isEmpty == false }
    }

    /// Who the URL says is asking; for a proxy, what the configuration says.
    private func named(for challenger: Challenger) -> (user: String, password: String?)? {
        switch challenger.role {
        case .server:
            let url = namingURL
            return url?.user(percentEncoded: false).map { ($0, url?.password(percentEncoded: false)) }
        case .proxy:
            return proxy.flatMap { proxy in proxy.user.map { ($0, proxy.password) } }
        }
    }

    /// What they name, if that is both a user and a password.
    private func namedCredential(for challenger: Challenger) -> URLCredential? {
        guard let named = named(for: challenger), let password = named.password else { return nil }
        return URLCredential(user: named.user, password: password, persistence: .forSession)
    }

    // MARK: The delegate

    /// Asks the delegate about one offer after the other until it says what to do.
    private func ask(_ offers: [Offer], _ exchange: Challenged) {
        guard let offer = offers.first, hearsOfTask else { return decline(exchange) }
        let authentication = authentications[exchange.challenger] ?? Authentication()
        hold(.deciding)
        askCredential(
            offer.space, proposed: authentication.lastRefused, failures: authentication.failureCount,
            exchange.answer.response
        ) { [weak self] disposition, credential in
            guard let self, self.isStill(with: exchange.answer) else { return }
            self.holds.remove(.deciding)
            switch disposition {
            case .useCredential:
                self.use(credential, offer, exchange)
            case .performDefaultHandling:
                // What could be done without asking has been done.
                self.decline(exchange)
            case .cancelAuthenticationChallenge:
                self.fail(.authenticationCancelled)
            case .rejectProtectionSpace:
                self.authentications[exchange.challenger]?.reject(offer.space)
                self.ask(Array(offers.dropFirst()), exchange)
            }
            self.updateFlow()
        }
    }

    private func use(_ credential: URLCredential?, _ offer: Offer, _ exchange: Challenged) {
        guard let credential, authentications[exchange.challenger]?.mayTry(credential) == true,
            let login = Login(offer, from: exchange.challenger, credential, .delegate, at: exchange.target)
        else { return decline(exchange) }
        resend(login, exchange)
    }

    // MARK: What follows

    private func resend(_ login: Login, _ exchange: Challenged) {
        authentications[exchange.challenger]?.pending = login
        follow(request, after: exchange.answer)
    }

    /// Nobody has a credential: the response is the result.
    private func decline(_ exchange: Challenged) {
        acceptOrFail(exchange.answer)
    }
}
