import Foundation
internal import PurlHTTP
internal import PurlIO

/// Who asks for credentials: the server of a request, or a proxy on the way to it.
struct Challenger: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        case server
        case proxy
    }

    let role: Role
    let scheme: String
    let endpoint: Endpoint

    /// The server that answers for an origin.
    static func server(_ origin: Origin) -> Challenger {
        // It asks for its handshakes as for anything else.
        Challenger(role: .server, scheme: origin.isWebSocket ? "http" : origin.scheme, endpoint: origin.endpoint)
    }

    /// The proxy that is spoken to in HTTP at an endpoint.
    static func proxy(_ endpoint: Endpoint) -> Challenger {
        Challenger(role: .proxy, scheme: NSURLProtectionSpaceHTTPProxy, endpoint: endpoint)
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
