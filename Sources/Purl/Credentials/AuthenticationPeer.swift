import Foundation
internal import PurlHTTP
internal import PurlIO

/// Who asks for credentials: the server of a request, or a proxy on the way to it.
struct AuthenticationPeer: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        case server
        case proxy
    }

    let role: Role
    let scheme: String
    let endpoint: Endpoint

    /// The server that answers for an origin.
    static func server(_ origin: Origin) -> AuthenticationPeer {
        // It asks for its handshakes as for anything else.
        AuthenticationPeer(
            role: .server, scheme: origin.isWebSocket ? "http" : origin.scheme, endpoint: origin.endpoint)
    }

    /// The proxy that is spoken to in HTTP at an endpoint.
    static func proxy(_ endpoint: Endpoint) -> AuthenticationPeer {
        AuthenticationPeer(role: .proxy, scheme: NSURLProtectionSpaceHTTPProxy, endpoint: endpoint)
    }

    /// The status that asks for credentials.
    var status: Int {
        switch role {
        case .server: 401
        case .proxy: 407
        }
    }

    /// The field that says which.
    var challengeField: FieldName {
        switch role {
        case .server: .wwwAuthenticate
        case .proxy: .proxyAuthenticate
        }
    }

    /// The field that brings them.
    var credentialField: FieldName {
        switch role {
        case .server: .authorization
        case .proxy: .proxyAuthorization
        }
    }

    /// The field of a response to a request that brought them.
    var infoField: FieldName {
        switch role {
        case .server: .authenticationInfo
        case .proxy: .proxyAuthenticationInfo
        }
    }

    /// A part of it as users see it.
    func space(realm: String?, method: String) -> URLProtectionSpace {
        let (host, port) =
            switch endpoint {
            case .host(let host, let port): (host, Int(port))
            case .unix(let path): (path, 0)
            }
        return switch role {
        case .server:
            URLProtectionSpace(host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: method)
        case .proxy:
            URLProtectionSpace(proxyHost: host, port: port, type: scheme, realm: realm, authenticationMethod: method)
        }
    }
}

/// A challenge that can be answered here: what a server takes as proof.
struct SupportedChallenge: Sendable {
    enum Scheme: Sendable {
        case basic
        case digest(DigestChallenge)
    }

    let scheme: Scheme
    let space: URLProtectionSpace
    /// Where the proof is good too: paths that begin with one of these.
    let paths: [String]?

    /// What a response offers, the safest first, one for each protection space.
    static func all(in fields: HeaderFields, from peer: AuthenticationPeer) -> [SupportedChallenge] {
        let offers = Challenge.all(in: fields, peer.challengeField).compactMap { SupportedChallenge($0, from: peer) }
        var best: [SupportedChallenge] = []
        for strength in Strength.allCases {
            for offer in offers where offer.strength == strength && !best.contains(where: { $0.space == offer.space }) {
                best.append(offer)
            }
        }
        return best
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

    /// A proxy has one protection space for all that is behind it (RFC 9110 §11.7.3). Every target begins with nothing.
    private static let everywhere = [""]

    /// RFC 7616 §3.3: a list of URIs with blanks between; those of other servers are not for us to trust.
    private static func paths(in domain: String) -> [String] {
        let paths = domain.split(separator: " ").filter { $0.hasPrefix("/") && !$0.hasPrefix("//") }
        return paths.prefix(Login.maximumPaths).map { String($0) }
    }

    private enum Strength: CaseIterable {
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
