import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What a transaction's request carries when it is sent: its own fields and the session's, cookies, credentials, and what an
/// upload, a part that is requested, or a stored response adds.
///
/// ``RequestComposer`` is the rule for the fields of the request itself; this adds what others know for it.
@NetworkActor
final class OutgoingRequest {
    let request: URLRequest
    /// What came before it.
    let history: TransactionHistory
    private let transfer: Transfer
    private var authenticator: Authenticator
    /// The way that it takes. Over a connection that leads to its server it is the direct one: a proxy has done its part.
    private(set) var route = Route.direct
    /// The cookies for it, where they are in a storage of the user's own.
    private var cookiesOfSubclass: String?

    init(_ request: URLRequest, of transfer: Transfer, _ history: TransactionHistory) {
        self.request = request
        self.transfer = transfer
        self.history = history
        authenticator = history.authenticator
    }

    private var session: URLSession { transfer.session }
    private var calls: DelegateCalls { transfer.calls }

    /// The upload that the request belongs to, where it may be resumed.
    var upload: ResumableUpload? { history.upload == nil ? nil : transfer.upload }

    var bodyPreparer: RequestBodyPreparer {
        RequestBodyPreparer(request: request, upload: history.upload, calls: calls)
    }

    /// The request takes another way from now on.
    func use(_ route: Route) {
        self.route = route
    }

    /// Where it goes, if a connection can be made there for the purpose.
    func target(for purpose: TransferPurpose) throws(TargetURI.Refusal) -> TargetURI {
        guard let url = request.url else { throw .noURL }
        let target = try session.pool.target(of: url.absoluteString)
        guard purpose.accepts(target.origin) else { throw .wrongTask(target.origin.scheme) }
        if target.origin.isSecure, session.tls == nil { throw .secureScheme(target.origin.scheme) }
        return target
    }

    // MARK: Heads

    /// The head with which the request is sent.
    ///
    /// - Parameters:
    ///   - cache: Adds the conditions of a stored response.
    func head(with body: OutgoingBody, at target: TargetURI, _ cache: CacheTransaction?) -> RequestHead {
        var head = composer(over: route, with: cookies).head(at: target, framing: body.framing)
        upload?.send(request, history, body, &head.fields)
        authenticate(&head, to: .server(target.origin), target: target.originForm)
        if case .proxy(let proxy) = route {
            authenticate(&head, to: .proxy(proxy.endpoint), target: head.target)
        }
        CacheLoader.policy(of: request, in: session).addFields(to: &head.fields)
        cache?.send(&head.fields)
        return head
    }

    /// The head of a WebSocket's handshake, without the fields that make it one.
    func headOfHandshake(at target: TargetURI) -> RequestHead {
        var head = composer(over: route, with: cookies).head(at: target, framing: .none)
        authenticate(&head, to: .server(target.origin), target: target.originForm)
        return head
    }

    /// The head that asks a proxy for a tunnel.
    func head(for tunnel: Tunnel, to target: TargetURI, through proxy: HTTPProxy) -> RequestHead {
        var head = tunnel.request(for: composer(over: route).head(at: target, framing: .none))
        authenticate(&head, to: .proxy(proxy.endpoint), target: head.target)
        return head
    }

    /// The fields that the request would be sent with. Credentials of a challenge are not among them: a response that
    /// depends on them is not found in the cache.
    var fields: HeaderFields {
        guard let url = request.url, let target = try? session.pool.target(of: url.absoluteString) else {
            return request.ownFields
        }
        return composer(over: .direct, with: cookies).head(at: target, framing: .none).fields
    }

    /// The request as a protocol receives it.
    func requestForProtocols(with body: OutgoingBody) -> URLRequest {
        composer(over: .direct).requestForProtocols(with: body)
    }

    /// The rule by which the request becomes a head, without credentials of a challenge.
    private func composer(over route: Route, with cookies: String? = nil) -> RequestComposer {
        RequestComposer(
            request: request, isForProxy: route.isProxy,
            additionalFields: session.settings.additionalFields.fields(mayCarryCredentials: !history.hasLeftOrigin),
            cookies: cookies, storage: transfer.storageState, mayUpgrade: mayUpgrade, mayExpect: history.mayExpect)
    }

    /// Sends a head, and the body behind it, over a connection.
    ///
    /// - Parameter client: Receives what the exchange reports.
    func start(
        _ head: RequestHead, encoded bytes: [UInt8], _ body: OutgoingBody, on connection: HTTPConnection,
        mayUpgrade: Bool, client: any ExchangeClient
    ) {
        let metrics = calls.currentMetrics
        metrics?.markRequestStart(on: connection, fields: head.fields)
        let trace = calls.trace?.exchange(head, byteCount: bytes.count, body, to: request.url, on: connection)
        connection.start(
            head, encoded: bytes, content: body.content, observer: ObserverPair.of(metrics, trace),
            mayUpgrade: mayUpgrade, client: client)
    }

    /// The request may ask for another protocol: its task's delegate can speak it, as a stream.
    var mayUpgrade: Bool {
        guard request.hasFields, case .response = transfer.purpose, transfer.storage == nil,
            case .delegate = calls.task.consumer, calls.hasDataDelegate
        else {
            return false
        }
        return request.value(forHTTPHeaderField: "Upgrade") != nil
    }

    // MARK: Credentials

    private func authenticate(_ head: inout RequestHead, to peer: AuthenticationPeer, target: String) {
        authenticator.addCredentials(to: &head, for: peer, target: target, in: session, users)
    }

    /// The users that the request's URL and the configuration of a proxy name.
    private var users: Authenticator.NamedUsers {
        history.users(of: request, original: calls.task.originalRequest, route)
    }

    /// The request's target as its server receives it.
    var originForm: String { (try? TargetURI(request.url))?.originForm ?? "/" }

    /// How far authentication to a peer has come.
    func authenticationRound(with peer: AuthenticationPeer) -> AuthenticationRound { authenticator.round(with: peer) }

    /// What follows from a challenge.
    ///
    /// - Parameters:
    ///   - peer: The server or the proxy that has sent it.
    ///   - offers: The challenges of its response.
    ///   - stored: What the credential storage has for them.
    func step(
        afterChallengeFrom peer: AuthenticationPeer, _ offers: [SupportedChallenge],
        _ stored: Authenticator.StoredCredentials
    ) -> Authenticator.Step {
        authenticator.step(afterChallengeFrom: peer, offers, stored, target: originForm, in: session, users)
    }

    /// The next request carries this login.
    func prepare(_ login: Login, for peer: AuthenticationPeer) {
        authenticator.prepare(login, for: peer)
    }

    /// The delegate wants no more of a protection space.
    func reject(_ space: URLProtectionSpace, of peer: AuthenticationPeer) {
        authenticator.reject(space, of: peer)
    }

    /// The credentials that were sent were right, except for the peer that asks for more.
    func concludeAuthentication(_ head: ResponseHead, asking peer: AuthenticationPeer?) {
        authenticator.concludeRound(head, asking: peer, in: session)
    }

    /// The history of a request that follows this one.
    ///
    /// - Parameter changed: That of this one, as far as it counts for the next; `nil` for all of it.
    func history(before next: URLRequest, _ changed: TransactionHistory? = nil) -> TransactionHistory {
        (changed ?? history).followed(from: request, to: next, authenticator)
    }

    // MARK: Cookies

    private var cookies: String? {
        guard let storage = storageOfCookies else { return nil }
        return storage.isSubclass ? cookiesOfSubclass : storage.cookieHeader(for: request)
    }

    /// Where the request's cookies are; `nil` when it carries none.
    private var storageOfCookies: HTTPCookieStorage? {
        guard session.settings.httpShouldSetCookies, request.httpShouldHandleCookies, request.mayCarrySecrets else {
            return nil
        }
        return session.settings.httpCookieStorage
    }

    /// Asks a storage that could keep the network thread, one of the user's own or one that has not read its file, for the
    /// request's cookies. False when they need not be asked for before the request is sent.
    ///
    /// - Parameter makeCompletion: Makes, where it is needed, what receives the argument of ``takeCookies(_:)``.
    func asksForCookies(_ makeCompletion: () -> @Sendable @NetworkActor (String?) -> Void) -> Bool {
        guard let storage = storageOfCookies, let lane = storage.laneForAsking else { return false }
        Worker.shared.run(on: lane, { [request] in storage.cookieHeader(for: request) }, then: makeCompletion())
        return true
    }

    /// The storage has answered.
    func takeCookies(_ cookies: String?) {
        cookiesOfSubclass = cookies
    }

    /// Stores the cookies of the response.
    ///
    /// - Returns: What stores them on another thread, where that must not keep the network thread; see
    ///   ``HTTPCookieStorage/laneForStoring(_:)``.
    func storeCookies(of head: ResponseHead, from url: URL) -> (Worker.Lane, @Sendable () -> Void)? {
        guard head.fields.contains(.setCookie), request.httpShouldHandleCookies, head.status != 407,
            let storage = session.settings.httpCookieStorage
        else { return nil }
        calls.trace?.cookies(in: head.fields)
        let policy = session.settings.httpCookieAcceptPolicy
        let store: @Sendable () -> Void = { [document = request.mainDocumentURL] in
            storage.storeCookies(in: head.fields, from: url, mainDocumentURL: document, policy: policy)
        }
        guard let lane = storage.laneForStoring(head.fields) else {
            store()
            return nil
        }
        return (lane, store)
    }

    // MARK: Its response

    func reportInterim(_ head: ResponseHead) {
        guard calls.hasTaskDelegate, let url = request.url else { return }
        calls.reportInterim(HTTPURLResponse(url: url, head: head))
    }

    /// The response as users and as the rules see it; `nil` where the request has no URL.
    func receive(_ head: ResponseHead, _ framing: BodyFraming, from source: any ResponseSource) -> ReceivedResponse? {
        guard let response = makeResponse(head) else { return nil }
        return ReceivedResponse(
            response: response, head: session.settings.codedContent.contentHead(head), framing: framing, source: source)
    }

    /// The response as users see it, which the metrics contain from now on.
    func makeResponse(_ head: ResponseHead) -> HTTPURLResponse? {
        guard let url = request.url else { return nil }
        let response = HTTPURLResponse(url: url, head: head, session.settings.codedContent)
        calls.currentMetrics?.setResponse(response)
        return response
    }

    // MARK: What the task shows

    /// The task shows what is sent, and counts the bytes of the body.
    func markSent(_ fields: HeaderFields, _ body: OutgoingBody) {
        let task = calls.task
        guard let upload else {
            if body.length != 0 { calls.startSending(at: 0) }
            return task.setSent(fields, bodyLength: body.length, from: 0)
        }
        guard let (start, total) = upload.count(with: history.uploadRequest, of: body) else {
            return task.setSent(fields)
        }
        if body.length != 0 { calls.startSending(at: start) }
        task.setSent(fields, bodyLength: total, from: start)
    }
}
