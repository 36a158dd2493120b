import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Connects through a SOCKS 5 proxy (RFC 1928), to which another connector connects.
///
/// The proxy looks up the names of hosts. The connector to the proxy may itself lead through a proxy, so that proxies form
/// a chain:
///
/// ```swift
/// let first = HTTPProxyConnector(host: "proxy.example", port: 3128)
/// configuration.connector = SOCKS5Connector(host: "gateway.example", over: first)
/// ```
///
/// Errors are `URLError`s: `.cannotConnectToHost` where the proxy refuses, with its reason as `localizedFailureReason`; what
/// the connector to the proxy throws; and `.badURL` where the proxy's host and port are not those of a server. An attempt has
/// no time limit of its own: it ends when its Swift task is cancelled, which a session does at the request's time-out.
/// See <doc:Connectors>.
public struct SOCKS5Connector: Connector {
    private let proxy: ProxyAddress
    private let credential: URLCredential?
    private let base: any Connector

    /// - Parameters:
    ///   - host: The name or the address in digits of the proxy, or the path of its local socket.
    ///   - port: The port of the proxy; 0 for a local socket.
    ///   - credential: A user and a password (RFC 1929), which are sent only when the proxy asks for them.
    ///   - base: Connects to the proxy. Its request has the scheme `socks5`.
    public init(
        host: String, port: Int = 1080, credential: URLCredential? = nil, over base: any Connector = SystemConnector()
    ) {
        proxy = ProxyAddress(scheme: "socks5", host: host, port: port)
        self.credential = credential
        self.base = base
    }

    public func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        let login = credential?.userAndPassword
        let socks = SOCKSProxy(endpoint: try proxy.endpoint, user: login?.user, password: login?.password)
        return try await AwaitedDial(request, SOCKSDialler(socks, over: ConnectorDialler(base))).connected()
    }
}

/// Connects through an HTTP proxy, to which another connector connects. The proxy is asked for a tunnel to each host
/// (`CONNECT`, RFC 9110 §9.3.6), also for plain HTTP.
///
/// The request for the tunnel is plain HTTP. Challenges of the proxy, Basic and Digest, are answered with one credential, and
/// credentials that it has accepted are sent with the next requests without a challenge. Proxies form a chain, and
/// errors are thrown, as with ``SOCKS5Connector``.
///
/// The session takes the tunnel for a direct connection: its metrics and its delegate know nothing of the proxy. Where they
/// should, name the proxy in ``URLSessionConfiguration/connectionProxyDictionary`` instead; see <doc:Proxies>.
public struct HTTPProxyConnector: Connector {
    private let proxy: ProxyAddress
    private let credential: URLCredential?
    private let base: any Connector
    private let logins = LoginCache()

    /// - Parameters:
    ///   - host: The name or the address in digits of the proxy, or the path of its local socket.
    ///   - port: The port of the proxy; 0 for a local socket.
    ///   - credential: A user and a password, which are sent only when the proxy asks for them.
    ///   - base: Connects to the proxy. Its request has the scheme `http`.
    public init(
        host: String, port: Int, credential: URLCredential? = nil, over base: any Connector = SystemConnector()
    ) {
        proxy = ProxyAddress(scheme: "http", host: host, port: port)
        self.credential = credential
        self.base = base
    }

    public func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        let endpoint = try proxy.endpoint
        let dialler = TunnelDialler(endpoint, over: ConnectorDialler(base)) { [credential, logins] in
            AuthenticatedTunnelRequester(.proxy(endpoint), credential, logins)
        }
        return try await AwaitedDial(request, dialler).connected()
    }
}

/// Where a proxy is, as a program names it.
private struct ProxyAddress: Sendable {
    let scheme: String
    let host: String
    let port: Int

    var endpoint: Endpoint {
        get throws { try ConnectionRequest(scheme: scheme, host: host, port: port).endpoint }
    }
}

/// Answers the challenges of a proxy with one credential.
private struct AuthenticatedTunnelRequester: TunnelRequester {
    private let peer: AuthenticationPeer
    private let credential: URLCredential?
    /// What the proxy has accepted.
    private let logins: LoginCache
    private var round = AuthenticationRound()

    init(_ peer: AuthenticationPeer, _ credential: URLCredential?, _ logins: LoginCache) {
        self.peer = peer
        self.credential = credential
        self.logins = logins
    }

    mutating func fields(to target: String) -> HeaderFields {
        var fields: HeaderFields = [.userAgent: HeaderFields.standardUserAgent]
        if let login = round.pending ?? logins.logins(at: peer).last {
            round.carried = .login(login, unasked: round.pending == nil)
            let proof = login.proof(method: .connect, target: target, counting: logins.nonces)
            fields.append(.proxyAuthorization, proof)
        }
        return fields
    }

    mutating func answersChallenge(_ head: ResponseHead, to target: String) -> Bool {
        let offers = SupportedChallenge.all(in: head.fields, from: peer)
        switch round.refuse(with: offers, at: target) {
        case .none: break
        case .again(let login):
            round.pending = login
            return true
        case .final(let login): logins.remove(login)
        }
        round.pending = credential.flatMap { credential in
            round.login(for: offers, from: peer, at: target) { _ in [(credential, .url)] }
        }
        return round.pending != nil
    }

    func tunnelDidOpen(_ head: ResponseHead) {
        guard case .login(let login, _) = round.carried else { return }
        if let nonce = AuthenticationInfo(head.fields, peer.infoField).nextNonce { login.use(nextNonce: nonce) }
        logins.store(login)
    }
}
