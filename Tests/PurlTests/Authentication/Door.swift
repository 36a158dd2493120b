import Foundation
import Purl
import PurlTesting

/// A place on a server that opens for whoever knows the word.
enum Door {
    /// Who may come in.
    static let user = "me"
    static let password = "secret"
    /// `me:secret` in base64.
    static let basic = "Basic bWU6c2VjcmV0"
    static let asksBasic = #"Basic realm="vault""#
    static let inside = Data("inside".utf8)

    static func credential(
        _ user: String = Door.user, _ password: String = Door.password,
        _ persistence: URLCredential.Persistence = .forSession
    ) -> URLCredential {
        URLCredential(user: user, password: password, persistence: persistence)
    }

    /// Opens for one value of `Authorization`, and asks everybody else.
    static func reply(
        opensFor value: String = Door.basic, asking challenges: [String] = [Door.asksBasic],
        _ inside: Reply = .text("inside"), refusal: Reply = .text("who are you?")
    ) -> Reply {
        .computed { request in
            if request.fields["Authorization"] == value { return inside }
            return challenges.reduce(refusal.status(401)) { $0.field("WWW-Authenticate", $1) }
        }
    }

    /// The protection space of such a place.
    static func space(
        of server: LoopbackServer, realm: String? = "vault", method: String? = NSURLAuthenticationMethodHTTPBasic
    ) -> URLProtectionSpace {
        URLProtectionSpace(
            host: "127.0.0.1", port: Int(server.port), protocol: NSURLProtectionSpaceHTTP, realm: realm,
            authenticationMethod: method)
    }

    /// A delegate that always gives the same answer.
    static func witness(
        _ disposition: URLSession.AuthChallengeDisposition = .useCredential,
        _ credential: URLCredential? = Door.credential()
    ) -> Witness {
        Witness(challenge: { _ in (disposition, credential) })
    }
}

extension LoopbackServer {
    /// The `Authorization` fields so far.
    var authorizations: [String?] { requests.map { $0.fields["Authorization"] } }

    /// The URL of `path` with a user, and perhaps a password, in it.
    func url(_ path: String, as user: String) -> URL {
        URL(string: "http://\(user)@127.0.0.1:\(port)\(path)") ?? url(path)
    }
}

extension Witness {
    /// The challenges, and nothing else.
    var challenges: [Event] {
        events.filter { if case .challenge = $0 { true } else { false } }
    }
}
