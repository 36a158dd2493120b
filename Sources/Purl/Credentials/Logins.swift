internal import PurlIO

/// What a session knows of its servers: who has been let in, and where. Later requests there carry the proof unasked.
@NetworkActor
final class Logins {
    /// A server that invents realms makes a session remember so many, and no more.
    private static let maximumPerChallenger = 16

    /// The latest last.
    private var logins: [Challenger: [Login]] = [:]

    nonisolated init() {}

    var isEmpty: Bool { logins.isEmpty }

    func logins(at challenger: Challenger) -> [Login] { logins[challenger] ?? [] }

    /// The login that a request for `target` needs, as far as is known; the longest path knows best, then the latest.
    func login(
        at challenger: Challenger, target: String, where isUsable: (Login) -> Bool
    ) -> Login? {
        var best: (login: Login, reach: Int)?
        for login in logins(at: challenger) {
            guard let reach = login.reach(to: target), reach >= best?.reach ?? 0, isUsable(login) else { continue }
            best = (login, reach)
        }
        return best?.login
    }

    /// Remembers a login that was let in, in place of an older one to the same space.
    func keep(_ login: Login) {
        var known = logins(at: login.challenger)
        if known.last === login { return }
        if let place = known.firstIndex(where: { $0.space == login.space }) {
            if known[place] !== login, known[place].secret == login.secret { login.addPaths(of: known[place]) }
            known.remove(at: place)
        }
        known.append(login)
        logins[login.challenger] = known.suffix(Self.maximumPerChallenger)
    }

    /// Forgets a login that was refused, or whose user has gone.
    func forget(_ login: Login) {
        logins[login.challenger]?.removeAll { $0 === login }
        if logins[login.challenger]?.isEmpty == true { logins[login.challenger] = nil }
    }

    func forgetAll() {
        logins = [:]
    }
}
