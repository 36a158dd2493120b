import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// A server, or a proxy on the way to it, that a client authenticates with.
struct AuthenticationPeer: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        case server
        case proxy
    }

    let role: Role
    let scheme: String
    let endpoint: Endpoint

    /// The server of an origin.
    static func server(_ origin: Origin) -> AuthenticationPeer {
        // A WebSocket handshake is authenticated like any other request.
        let scheme =
            switch origin.scheme {
            case "ws": NSURLProtectionSpaceHTTP
            case "wss": NSURLProtectionSpaceHTTPS
            default: origin.scheme
            }
        return AuthenticationPeer(role: .server, scheme: scheme, endpoint: origin.endpoint)
    }

    /// The HTTP proxy at an endpoint.
    static func proxy(_ endpoint: Endpoint) -> AuthenticationPeer {
        AuthenticationPeer(role: .proxy, scheme: NSURLProtectionSpaceHTTPProxy, endpoint: endpoint)
    }

    /// The status of its challenges.
    var status: Int {
        switch role {
        case .server: 401
        case .proxy: 407
        }
    }

    /// The field with its challenges.
    var challengeField: FieldName {
        switch role {
        case .server: .wwwAuthenticate
        case .proxy: .proxyAuthenticate
        }
    }

    /// The request's field with the credentials.
    var credentialField: FieldName {
        switch role {
        case .server: .authorization
        case .proxy: .proxyAuthorization
        }
    }

    /// The field of a response to a request with credentials.
    var infoField: FieldName {
        switch role {
        case .server: .authenticationInfo
        case .proxy: .proxyAuthenticationInfo
        }
    }

    /// Its name or address, or the path of a local socket.
    private var host: String {
        switch endpoint {
        case .host(let host, _): host
        case .unix(let path): path
        }
    }

    private var port: Int {
        switch endpoint {
        case .host(_, let port): Int(port)
        case .unix: 0
        }
    }

    /// The protection space of this peer with a realm.
    ///
    /// - Parameter realm: The realm of its challenge. Servers that leave it out of a Basic challenge, where RFC 7617 §2
    ///   requires it, have one space, which is named after the host.
    func space(realm: String?, method: String) -> URLProtectionSpace {
        let realm = realm ?? host
        return switch role {
        case .server:
            URLProtectionSpace(host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: method)
        case .proxy:
            URLProtectionSpace(proxyHost: host, port: port, type: scheme, realm: realm, authenticationMethod: method)
        }
    }
}

/// A challenge in a scheme that Purl can answer: Basic or Digest.
struct SupportedChallenge: Sendable {
    enum Scheme: Sendable {
        case basic
        case digest(DigestChallenge)
    }

    let scheme: Scheme
    let space: URLProtectionSpace
    /// The protection space covers paths that begin with one of these; `nil` when the server does not name any.
    let paths: [String]?

    /// The challenges of a response, the safest first, one for each protection space.
    static func all(in fields: HeaderFields, from peer: AuthenticationPeer) -> [SupportedChallenge] {
        let challenges = Challenge.all(in: fields, peer.challengeField).compactMap {
            SupportedChallenge($0, from: peer)
        }
        var spaces: Set<URLProtectionSpace> = []
        return challenges.sorted { $0.strength < $1.strength }.filter { spaces.insert($0.space).inserted }
    }

    private init?(_ challenge: Challenge, from peer: AuthenticationPeer) {
        if let digest = DigestChallenge(challenge) {
            scheme = .digest(digest)
            space = peer.space(realm: digest.realm, method: NSURLAuthenticationMethodHTTPDigest)
            paths =
                peer.role == .proxy
                ? Self.everywhere : challenge.parameter("domain").map(Self.paths(in:)) ?? ["/"]
        } else if challenge.isScheme("basic") {
            scheme = .basic
            space = peer.space(realm: challenge.realm, method: NSURLAuthenticationMethodHTTPBasic)
            paths = peer.role == .proxy ? Self.everywhere : nil
        } else {
            return nil
        }
    }

    /// A proxy has one protection space for all targets (RFC 9110 §11.7.3). Each begins with the empty text.
    private static let everywhere = [""]

    /// RFC 7616 §3.3: a list of URIs with spaces between; those of other servers cannot be trusted.
    private static func paths(in domain: String) -> [String] {
        let paths = domain.split(separator: " ").filter { $0.hasPrefix("/") && !$0.hasPrefix("//") }
        return paths.prefix(Login.maximumPaths).map { String($0) }
    }

    /// The safest first.
    private enum Strength: Comparable {
        case sha256, md5, plain
    }

    private var strength: Strength {
        switch scheme {
        case .basic: .plain
        case .digest(let challenge):
            switch challenge.algorithm {
            case .sha256, .sha256Session: .sha256
            case .md5, .md5Session, nil: .md5
            }
        }
    }
}
