import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What a transaction knows of those before it: a redirect, a challenge or a failed expectation makes a new transaction
/// from the history of the last one.
@NetworkActor
struct TransactionHistory {
    /// How many redirects have led here.
    private(set) var redirects = 0
    /// A redirect has led to another origin: credentials of the session, and of the original URL, are not for that one.
    private(set) var hasLeftOrigin = false
    /// Whether stored responses may be used: one has turned out not to be what the server describes.
    private(set) var trustsCache = true
    /// False once the server has refused to meet the request's expectation.
    private(set) var mayExpect = true
    /// The body of the request where it is ready, and nothing of it has been sent.
    private(set) var readyBody: OutgoingBody?
    /// The body of an upload task, or the part of it that the request carries, for as long as redirects keep it.
    private(set) var upload: RequestBody?
    /// What the request is for that upload.
    private(set) var uploadRequest = UploadRequest.whole
    /// How far authentication has come.
    private(set) var authenticator = Authenticator()

    /// Whether the request goes to an upload resource.
    var isResumedUpload: Bool {
        switch uploadRequest {
        case .offset, .rest: upload != nil
        case .whole, .first: false
        }
    }

    init(upload: RequestBody?) {
        self.upload = upload
    }

    /// The history of a transaction for `next` after one for `request`, which has left this authenticator.
    func followed(from request: URLRequest, to next: URLRequest, _ authenticator: Authenticator) -> TransactionHistory {
        var history = self
        history.authenticator = authenticator
        history.readyBody = nil
        if let old = request.url, let new = next.url, !old.isSameOrigin(as: new) {
            history.hasLeftOrigin = true
            history.authenticator.forgetServers()
        }
        if Redirect.replacesBody(of: request, by: next) { history.upload = nil }
        return history
    }

    /// The same for a request that carries another part of the upload.
    func uploading(_ body: RequestBody, _ purpose: UploadRequest) -> TransactionHistory {
        var history = self
        history.upload = body
        history.uploadRequest = purpose
        return history
    }

    /// The same with one more redirect.
    var redirected: TransactionHistory {
        var history = self
        history.redirects += 1
        return history
    }

    /// The same, with the body that is ready for the same request.
    func keeping(_ body: OutgoingBody?) -> TransactionHistory {
        var history = self
        history.readyBody = body
        return history
    }

    /// The same without expectations.
    var expectingNothing: TransactionHistory {
        var history = self
        history.mayExpect = false
        return history
    }

    /// The same without trust in what is stored.
    var distrustingCache: TransactionHistory {
        var history = self
        history.trustsCache = false
        return history
    }

    /// Which users the URLs and the configuration name. The URL is that of the request, or of the one that was redirected
    /// within its origin: a server that redirects to another does not decide who is authenticated there.
    func users(of request: URLRequest, original: URLRequest?, _ route: Route) -> Authenticator.NamedUsers {
        let url =
            hasLeftOrigin
            ? nil
            : [request.url, original?.url].lazy.compactMap { $0 }
                .first { $0.user(percentEncoded: false)?.isEmpty == false }
        return Authenticator.NamedUsers(mayCarrySecrets: request.mayCarrySecrets, url: url, route: route)
    }
}

/// Which way a transaction reaches its server.
enum Route {
    case direct
    case proxy(HTTPProxy)
    /// The server, over a connection that the proxy has made.
    case socks(SOCKSProxy)

    /// - Parameter proxy: The one that the rules have for the server, if any.
    init(through proxy: Proxy?) {
        self =
            switch proxy {
            case nil: .direct
            case .http(let proxy): .proxy(proxy)
            case .socks(let proxy): .socks(proxy)
            }
    }

    /// Whether the request is sent to a proxy, and not to its server.
    var isProxy: Bool {
        switch self {
        case .direct, .socks: false
        case .proxy: true
        }
    }

    /// Whose connection carries a request to `target`.
    func nextHop(to target: TargetURI) -> NextHop {
        switch self {
        case .direct: .server(target.origin)
        case .proxy(let proxy) where target.origin.isSecure: .tunnel(target.origin, through: proxy.endpoint)
        case .proxy(let proxy): .proxy(proxy.endpoint)
        case .socks(let proxy): .socks(proxy, target.origin)
        }
    }

    /// The peer that may ask for credentials before the server does.
    var challenger: AuthenticationPeer? {
        switch self {
        case .direct, .socks: nil
        case .proxy(let proxy): .proxy(proxy.endpoint)
        }
    }

    func failure(_ error: DialError) -> TransferFailure {
        switch self {
        case .direct: .dial(error)
        case .proxy(let proxy): .proxyDial(proxy.endpoint, error)
        case .socks(let proxy): .proxyDial(proxy.endpoint, error)
        }
    }
}
