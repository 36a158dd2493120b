import Foundation
import Purl
import PurlTesting

/// A resource that is protected by Basic authentication.
enum ProtectedResource {
    /// The name of the only user.
    static let user = "me"
    static let password = "secret"
    /// `me:secret` in base64.
    static let basic = "Basic bWU6c2VjcmV0"
    static let basicChallenge = #"Basic realm="vault""#
    static let inside = Data("inside".utf8)

    static func credential(
        _ user: String = ProtectedResource.user, _ password: String = ProtectedResource.password,
        _ persistence: URLCredential.Persistence = .forSession
    ) -> URLCredential {
        URLCredential(user: user, password: password, persistence: persistence)
    }

    /// The content for one value of `Authorization`, and a 401 for any other.
    static func reply(
        accepting value: String = ProtectedResource.basic,
        asking challenges: [String] = [ProtectedResource.basicChallenge],
        _ inside: Reply = .text("inside"), refusal: Reply = .text("who are you?")
    ) -> Reply {
        .computed { request in
            if request.fields["Authorization"] == value { return inside }
            return challenges.reduce(refusal.status(401)) { $0.field("WWW-Authenticate", $1) }
        }
    }

    /// The protection space of the resource.
    static func space(
        of server: LoopbackServer, realm: String? = "vault", method: String? = NSURLAuthenticationMethodHTTPBasic
    ) -> URLProtectionSpace {
        URLProtectionSpace(
            host: "127.0.0.1", port: Int(server.port), protocol: NSURLProtectionSpaceHTTP, realm: realm,
            authenticationMethod: method)
    }

    /// A delegate that answers every challenge in the same way.
    static func witness(
        _ disposition: URLSession.AuthChallengeDisposition = .useCredential,
        _ credential: URLCredential? = ProtectedResource.credential()
    ) -> Witness {
        Witness(challenge: { _ in (disposition, credential) })
    }
}

extension LoopbackServer {
    /// The `Authorization` fields of the requests so far.
    var authorizations: [String?] { requests.map { $0.fields["Authorization"] } }

    /// The URL of `path` with a user, and perhaps a password, in it.
    func url(_ path: String, as user: String) -> URL {
        URL(string: "http://\(user)@127.0.0.1:\(port)\(path)") ?? url(path)
    }
}

extension Witness {
    /// The challenges among the events.
    var challenges: [Event] {
        events.filter { if case .challenge = $0 { true } else { false } }
    }
}
