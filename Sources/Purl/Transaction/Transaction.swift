import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// One request and its response.
///
/// Theory of operation: ``proceed`` is the one place that decides, in order, what provides the response: a protocol of the
/// user's, a `data:` or a `file:` URL, the cache, or a server; before the last two a cookie storage of the user's own is asked
/// for cookies. Each of them can take its time, and then calls `proceed` again, which continues with the same provider or the next.
/// The one that accepts the request provides a ``ResponseSource``, whose head ``ResponseDecision`` judges once;
/// ``ResponseHandler`` carries out the decision. Then the body goes to a ``BodyReceiver``, or another transaction follows: a
/// redirect, a challenge and an expectation that failed make a new one from the history of this one. A retry sends the same
/// one again.
///
/// What is sent is put together by ``OutgoingRequest``; ``Succession`` decides what follows a response that is not the
/// result, ``UploadResumption`` how an upload continues, ``WebSocketOpening`` whether a WebSocket is open.
///
/// ```
/// parked ⇄ preparing ──► leasing ─► waiting ──► exchanging ──► received ─► ended
///    ▲                                  │           │  └─► leaving ─► (the next transaction)
///    └──────────── retry, redial ◄──────┴───────────┘      └─► conversing
/// ```
@NetworkActor
final class Transaction: ExchangeClient {
    /// What may provide the response, in the order in which it is asked.
    private enum Provider {
        case protocols
        /// `data:` and `file:` URLs.
        case local
        /// A cookie storage of the user's own is asked for the request's cookies.
        case cookies
        case cache
        case network
    }

    private enum Phase {
        /// Not begun, suspended without a connection, or waiting to dial again.
        case parked
        /// A loader, the disk or the delegate has been asked; its result continues the transaction.
        case preparing
        /// The pool is asked for a connection, and may provide it within the call.
        case leasing
        case waiting(ConnectionPool.Waiter)
        /// A connection becomes secure, or the delegate is asked about one that is.
        case securing(Securing, HTTPConnection)
        case exchanging(any ResponseSource)
        /// The response is not wanted. Its body is read to its end so that the connection can be used again.
        indirect case leaving(any ResponseSource, Successor)
        /// The connection carries messages or a stream.
        case conversing(any Conversation)
        /// The response has arrived; its receiver delivers what is left of the body.
        case received
        case ended
    }

    /// What is sent on the connection, and so what its response means.
    private enum Message {
        case request
        /// RFC 9110 §9.3.6: the proxy is asked for a tunnel to the server.
        case connect
        case opening(WebSocketOpening)
    }

    /// What the request carries when it is sent.
    private(set) var outgoing: OutgoingRequest
    /// The host wants secure connections, and the URL was not for one.
    private let isUpgraded: Bool
    private let transfer: Transfer
    private let calls: DelegateCalls
    private var authenticator: Authenticator
    /// Confirms or stores a response, where there is a cache for the request.
    private(set) var cacheTransaction: CacheTransaction?
    /// The one that is asked next.
    private var provider: Provider
    private var phase = Phase.parked
    private var route = Route.direct
    private var message = Message.request
    /// The body, from when it is ready until it is sent.
    private var body: OutgoingBody?
    private var attempt = UnansweredRequest.Attempt.first

    init(_ request: URLRequest, of transfer: Transfer, history: TransactionHistory) {
        var request = request
        if case .webSocket = transfer.purpose { request.url = request.url?.webSocketForm }
        if transfer.session.tls != nil, let url = request.url,
            let secure = transfer.session.secureHosts.secureForm(of: url)
        {
            request.url = secure
            isUpgraded = true
        } else {
            isUpgraded = false
        }
        outgoing = OutgoingRequest(request, of: transfer, history)
        self.transfer = transfer
        calls = transfer.calls
        authenticator = history.authenticator
        switch transfer.purpose {
        // What a server has begun to take no protocol of the user's can continue.
        case .response: provider = history.isResumedUpload ? .cookies : .protocols
        case .webSocket: provider = .cookies
        case .stream: provider = .network
        }
    }

    var request: URLRequest { outgoing.request }
    private var history: TransactionHistory { outgoing.history }
    var session: URLSession { transfer.session }
    var task: URLSessionTask { calls.task }

    // MARK: Messages from the transfer

    /// What is expected of the network.
    ///
    /// - Parameter isHeld: Nothing is read from a connection.
    func expectation(isHeld: Bool) -> Deadlines.Expectation {
        switch phase {
        case .parked, .preparing, .leasing, .received, .ended: .nothing
        case .exchanging(let source), .leaving(let source, _): isHeld || source.mayBeIdle ? .nothing : .progress
        case .conversing(let conversation): isHeld || conversation.mayBeIdle ? .nothing : .progress
        case .waiting(let waiter):
            waiter.awaitsDelegate ? .nothing : waiter.dialStart.map { .progressSince($0) } ?? .nothing
        case .securing(let securing, _): securing.isAsking ? .nothing : .progress
        }
    }

    /// A transaction for another request in place of this one, which has not begun.
    func replaced(by request: URLRequest) -> Transaction {
        Transaction(request, of: transfer, history: history)
    }

    /// The transaction that sends the same request again, after this one was abandoned; `nil` when its body cannot be sent
    /// again.
    func repeated() -> Transaction? {
        guard outgoing.bodyPreparer.canPrepareAgain else { return nil }
        return Transaction(
            request, of: transfer, history: history(history, before: request))
    }

    /// Whether a response is being received or has been, and its body may be delivered.
    var hasResponse: Bool {
        switch phase {
        case .exchanging, .received: true
        case .parked, .preparing, .leasing, .waiting, .securing, .leaving, .conversing, .ended: false
        }
    }

    /// The task is no longer suspended: continues where it was suspended.
    func resume() {
        if case .parked = phase { proceed() }
    }

    /// The task is suspended. A place in the pool's queue is given up; a connection that is there stays, and is paused.
    func suspend() {
        guard case .waiting(let waiter) = phase else { return }
        waiter.cancel()
        phase = .parked
    }

    /// Stops or continues reading from, and writing to, the source of the response.
    func setPaused(_ isPaused: Bool) {
        switch phase {
        case .exchanging(let source), .leaving(let source, _): source.isPaused = isPaused
        case .conversing(let conversation): conversation.isPaused = isPaused
        case .parked, .preparing, .leasing, .waiting, .securing, .received, .ended: break
        }
    }

    func priorityChanged() {
        if case .waiting(let waiter) = phase { waiter.move(to: task.priority) }
    }

    /// Ends at once, in whatever phase. Nothing is called any more.
    func abandon() {
        let old = phase
        phase = .ended
        switch old {
        case .parked, .preparing, .leasing, .received, .ended: break
        case .waiting(let waiter): waiter.cancel()
        case .securing(let securing, let connection):
            securing.cancel()
            // One that is secure already is another task's to use.
            release(connection, mayStay: connection.security != nil)
        case .exchanging(let source), .leaving(let source, _): source.abandon()
        case .conversing(let conversation): conversation.abandon()
        }
    }

    /// The stored response takes the place of a failure, if it may (RFC 5861 §4). True when it does.
    func recovers(from failure: TransferFailure) -> Bool {
        guard failure.isUnreachability, let (stored, age) = cacheTransaction?.replacementForFailure else {
            return false
        }
        abandon()
        deliver(stored, age: age)
        return true
    }

    // MARK: What provides the response

    /// Continues with the next provider: asks the loaders in order, then sends the request.
    func proceed() {
        guard !transfer.isSuspended else {
            phase = .parked
            return
        }
        phase = .preparing
        if case .protocols = provider {
            if ProtocolLoader(classes: session.protocolClasses).loads(self) { return }
            provider = .local
        }
        if case .local = provider {
            // A server must not choose the content of a response, or a file of this machine, by a redirect.
            if history.redirects == 0, request.url?.scheme != "http" {
                if DataURLLoader().loads(self) { return }
                if transfer.mayLoadFiles, FileLoader().loads(self) { return }
            }
            provider = .cookies
        }
        if case .cookies = provider {
            provider = .cache
            let isAsking = outgoing.asksForCookies { [weak self] cookies in
                guard let self, self.awaitsLoader else { return }
                self.outgoing.takeCookies(cookies)
                self.proceed()
            }
            if isAsking { return }
        }
        guard let target = findTarget() else { return }
        if case .cache = provider {
            provider = .network
            if CacheLoader(transfer: transfer, trustsStored: history.trustsCache).loads(self) { return }
        }
        guard findRoute(to: target), let body = preparedBody() else { return }
        lease(body, target)
    }

    private func findTarget() -> TargetURI? {
        do throws(TargetURI.Refusal) {
            guard let url = request.url else { throw .noURL }
            let target = try session.pool.target(of: url.absoluteString)
            guard transfer.purpose.accepts(target.origin) else { throw .wrongTask(target.origin.scheme) }
            if target.origin.isSecure, session.tls == nil { throw .secureScheme(target.origin.scheme) }
            if isUpgraded { task.setCurrentRequest(request) }
            return target
        } catch {
            fail(.url(error))
            return nil
        }
    }

    private func findRoute(to target: TargetURI) -> Bool {
        do throws(ProxyFault) {
            route = Route(through: try session.proxies.proxy(for: target))
            return true
        } catch {
            fail(.proxy(error))
            return false
        }
    }

    /// Whether the result of a loader that was asked is still awaited.
    var awaitsLoader: Bool {
        if case .preparing = phase { return true }
        return false
    }

    /// No protocol loads the request.
    func protocolsDeclined() {
        provider = .local
        task.setCurrentRequest(request)
        proceed()
    }

    /// A protocol loads the request. False when the task is suspended, and the protocols are asked again later.
    func protocolAccepted() -> Bool {
        guard !transfer.isSuspended else {
            phase = .parked
            return false
        }
        return true
    }

    /// The response comes from a loader.
    func begin(_ exchange: LocalExchange) {
        body = nil
        // The entry for an earlier response is not for this one.
        cacheTransaction = nil
        phase = .exchanging(exchange)
        calls.trace?.record(.localResponse)
        transfer.deadlines.watchProgress(of: request)
        exchange.isPaused = transfer.isHeld
    }

    /// A stored response is the response.
    func deliver(_ stored: CachedURLResponse, age: Int64?) {
        guard let url = request.url else { return }
        var response = stored.response
        var head = ResponseHead(status: 200)
        if let http = response as? HTTPURLResponse {
            head = http.head
            head.fields = stored.rules?.fields ?? head.fields
            // RFC 9111 §5.1: unless the server has just confirmed it.
            if let age { head.fields[.age] = String(age) }
            response = HTTPURLResponse(url: url, head: head)
        }
        deliverFromCache(response, head, stored.data)
    }

    /// RFC 9111 §5.2.1.7: nothing that is stored satisfies the request.
    func deliverGatewayTimeout() {
        guard let url = request.url else { return }
        let head = ResponseHead(status: 504, fields: ["Content-Length": "0"])
        deliverFromCache(HTTPURLResponse(url: url, head: head), head, Data())
    }

    private func deliverFromCache(_ response: URLResponse, _ head: ResponseHead, _ content: Data) {
        calls.recordLocalResponse(response, to: request, from: .localCache)
        deliver(response, head, .length(Int64(content.count)), content: content, from: .cache)
    }

    /// A response whose content is complete in memory is the response.
    func deliver(
        _ response: URLResponse, _ head: ResponseHead, _ framing: BodyFraming, content: Data,
        from provenance: ResponseDecision.Provenance
    ) {
        let exchange = LocalExchange(for: self)
        begin(exchange)
        exchange.push(.response(response, head, framing, provenance))
        exchange.push(.content(content))
        exchange.push(.end)
    }

    // MARK: The request's body

    /// The body, if it can be sent now. Otherwise it is prepared, and then the transaction continues.
    func preparedBody() -> OutgoingBody? {
        if let body { return body }
        // The preparer may call `takeBody` before it returns nil; the body that was set there stays.
        guard let prepared = outgoing.bodyPreparer.prepare(for: self) else { return nil }
        body = prepared
        return prepared
    }

    /// The body is prepared, or cannot be.
    func takeBody(_ result: Result<OutgoingBody, BodyFailure>) {
        guard case .preparing = phase else { return }
        switch result {
        case .success(let prepared):
            body = prepared
            proceed()
        case .failure(let failure):
            fail(.body(failure))
        }
    }

    // MARK: The connection

    private func lease(_ body: OutgoingBody, _ target: TargetURI) {
        calls.beginMetrics(of: request)
        transfer.deadlines.stopRedialling()
        transfer.deadlines.watchProgress(of: request)
        let hop = route.nextHop(to: target)
        let demand = attempt.demand(for: request.method, isRecoverable: history.isResumedUpload)
        if let connection = session.pool.takeIdle(to: hop, for: demand) {
            return begin(body, on: connection, target)
        }
        phase = .leasing
        calls.trace?.waits(for: hop)
        let limit = transfer.deadlines.dialLimit(of: request)
        let waiter = session.pool.lease(
            hop, priority: task.priority, demand: demand, timeLimit: limit, watcher: calls.trace,
            securer: session.tls.map { TaskSecurer(settings: $0, calls: calls) }
        ) { [weak self] result in self?.leased(result, body, target) }
        // The connection may have been provided already.
        if case .leasing = phase { phase = .waiting(waiter) }
    }

    private func leased(
        _ result: Result<HTTPConnection, ConnectionFailure>, _ body: OutgoingBody, _ target: TargetURI
    ) {
        switch result {
        case .failure(let error):
            if case .waiting(let waiter) = phase { calls.currentMetrics?.markFailedDial(waiter.dialTimes) }
            switch error {
            case .dial(let error):
                calls.trace?.record(other: .dialFailed(reason: error.description.asReason))
                noConnection(error)
            case .security(let error):
                let failure = error as? TLSFailure ?? .session(TLSError(error))
                calls.trace?.record(other: .dialFailed(reason: failure.explanation.sentence.asReason))
                fail(.tls(failure))
            }
        case .success(let connection):
            begin(body, on: connection, target)
        }
    }

    /// A session that waits for connectivity dials again later, unless waiting cannot help. A background session always
    /// does, without a call.
    private func noConnection(_ error: DialError) {
        let settings = session.settings
        guard settings.waitsForConnectivity || settings.isBackground, error.isTransient else {
            return fail(route.failure(error))
        }
        phase = .parked
        if !settings.isBackground, transfer.deadlines.hasNeverRedialled { calls.reportWaitingForConnectivity() }
        calls.trace?.record(other: .redial)
        transfer.deadlines.redial { [weak self] in self?.resume() }
    }

    private func begin(_ body: OutgoingBody, on connection: HTTPConnection, _ target: TargetURI) {
        if let security = connection.security {
            guard security.isApproved(for: calls) else { return askAbout(security, of: connection) }
            // The proxy has done its part.
            route = .direct
        }
        phase = .exchanging(connection)
        calls.trace?.connected(connection)
        transfer.deadlines.markProgress()
        switch transfer.purpose {
        case .response:
            if connection.needsTunnel, case .proxy(let proxy) = route {
                connect(to: target, through: proxy, on: connection)
            } else {
                send(body, on: connection, target)
            }
        case .webSocket(let webSocket):
            if case .proxy(let proxy) = route {
                connect(to: target, through: proxy, on: connection)
            } else {
                open(webSocket, on: connection, target)
            }
        case .stream(let stream):
            if case .proxy(let proxy) = route {
                connect(to: target, through: proxy, on: connection)
            } else {
                calls.currentMetrics?.markRequestStart(on: connection, fields: nil)
                guard let (transport, surplus) = connection.surrender() else { return }
                open(stream, over: transport, received: surplus)
            }
        }
    }

    private func send(_ body: OutgoingBody, on connection: HTTPConnection, _ target: TargetURI) {
        // To be sent again it has to be prepared again.
        self.body = nil
        let head = outgoing.head(with: body, at: target, over: route, cacheTransaction, &authenticator)
        if let fault = RequestComposer.fault(in: head, body.framing) {
            return release(connection, failing: .request(fault))
        }
        guard let bytes = encode(head, for: connection) else { return }
        outgoing.markSent(head.fields, body)
        message = .request
        start(head, bytes, body, on: connection, mayUpgrade: outgoing.mayUpgrade)
    }

    private func start(
        _ head: RequestHead, _ bytes: [UInt8], _ body: OutgoingBody, on connection: HTTPConnection, mayUpgrade: Bool
    ) {
        let metrics = calls.currentMetrics
        metrics?.markRequestStart(on: connection, fields: head.fields)
        let trace = calls.trace?.exchange(head, byteCount: bytes.count, body, to: request.url, on: connection)
        connection.start(
            head, encoded: bytes, content: body.content, observer: ObserverPair.of(metrics, trace),
            mayUpgrade: mayUpgrade,
            client: self)
    }

    /// The head as it goes onto the wire; `nil` when it cannot, and then the transfer has failed.
    private func encode(_ head: RequestHead, for connection: HTTPConnection) -> [UInt8]? {
        var bytes: [UInt8] = []
        do throws(EncodeError) {
            try head.encode(into: &bytes)
            return bytes
        } catch {
            release(connection, failing: .request(error))
            return nil
        }
    }

    /// Fails before anything was sent: the connection stays in the pool.
    private func release(_ connection: HTTPConnection, failing failure: TransferFailure) {
        phase = .parked
        session.pool.release(connection, mayStay: true)
        fail(failure)
    }

    // MARK: ExchangeClient

    func exchangeMadeProgress(_ source: any ResponseSource) {
        transfer.deadlines.markProgress()
    }

    func exchange(_ source: any ResponseSource, didSendBodyBytes count: Int) {
        transfer.deadlines.markProgress()
        outgoing.upload?.didSend(count)
        calls.reportSent(Int64(count))
    }

    func exchange(_ source: any ResponseSource, didReceiveInterim head: ResponseHead) {
        if calls.hasTaskDelegate, let url = request.url { calls.reportInterim(HTTPURLResponse(url: url, head: head)) }
        upload?.receiveInterim(head)
    }

    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming) {
        guard let url = request.url else { return }
        let response = ReceivedResponse(
            response: makeResponse(head, from: url), head: session.settings.codedContent.contentHead(head),
            framing: framing, source: source)
        // A proxy that refuses a tunnel does not speak for the server.
        guard !isConnecting else { return decideOnTunnel(response) }
        learnSecurity(of: head, from: url, source)
        guard let (lane, storing) = outgoing.storeCookies(of: head, from: url) else { return decide(response) }
        transfer.hold(.deciding)
        Worker.shared.run(on: lane, storing) { [weak self] _ in
            guard let self, self.isExchanging(with: source) else { return }
            self.transfer.continueAfterDecision { self.decide(response) }
        }
    }

    private func decide(_ response: ReceivedResponse) {
        let head = response.head
        var circumstances = circumstances(of: .server)
        // Only then does it matter, and finding out takes a while.
        if head.status == 417 { circumstances.canSendBodyAgain = outgoing.bodyPreparer.canPrepareAgain }
        let peer = ResponseDecision.challenger(of: head, to: request, through: circumstances.proxy)
        authenticator.concludeRound(head, asking: peer, in: session)
        if peer == nil {
            CacheLoader.invalidate(head, to: request, in: session)
            if let cacheTransaction { circumstances.cache = cacheTransaction.judge(head) }
            calls.trace?.cache(circumstances.cache)
            circumstances.upload = upload?.continuation(after: head)
        }
        let decision = ResponseDecision(head, framing: response.framing, in: circumstances)
        if decision.isOfferedToCache { cacheTransaction?.collect(response) }
        ResponseHandler(response, to: self, of: transfer).carryOut(decision)
    }

    func exchange(_ source: any ResponseSource, didReceive bytes: UnsafeRawBufferPointer) {
        if case .leaving = phase {
            cacheTransaction?.take(bytes)
            return
        }
        transfer.receiver?.take(bytes)
    }

    func exchange(_ source: any ResponseSource, didMoveContent count: Int) {
        transfer.receiver?.takeMoved(count)
    }

    func exchangeDidFinish(_ source: any ResponseSource) {
        calls.currentMetrics?.markEnd()
        if case .leaving(_, let next) = phase {
            cacheTransaction?.offer(content: nil, isFinal: false, calls)
            return follow(next)
        }
        phase = .received
        transfer.receiver?.finish()
    }

    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure) {
        if case .leaving(_, let next) = phase {
            // The response has served its purpose.
            return follow(next)
        }
        phase = .parked
        if case .closedBeforeResponse(let error, let reach) = failure,
            UnansweredRequest(
                attempt: attempt, method: request.method, connectionWasReused: source.isReused, reach: reach,
                error: error
            ).mayBeSentAgain, outgoing.bodyPreparer.canPrepareAgain
        {
            attempt = .repeated
            calls.trace?.record(other: .retry(.idleConnectionClosed))
            return proceed()
        }
        fail(.exchange(failure))
    }

    private func makeResponse(_ head: ResponseHead, from url: URL) -> HTTPURLResponse {
        let response = HTTPURLResponse(url: url, head: head, session.settings.codedContent)
        calls.currentMetrics?.setResponse(response)
        return response
    }

    // MARK: What a response means

    private func circumstances(of provenance: ResponseDecision.Provenance) -> ResponseDecision.Circumstances {
        ResponseDecision.Circumstances(
            request: request, provenance: provenance, proxy: route.challenger, redirects: history.redirects,
            maximumRedirects: maximumRedirects,
            storage: transfer.storageState, refusal: refusal)
    }

    private var maximumRedirects: Int { max(0, session.settings.limits.redirects) }

    /// Why a response is a failure where another protocol was asked for.
    private var refusal: ((_ status: Int) -> TransferFailure)? {
        switch (transfer.purpose, message) {
        case (.response, .connect): { .tls(.tunnelRefused(status: $0)) }
        case (.response, _): nil
        case (.stream, _): { .stream(.tunnelRefused(status: $0)) }
        case (.webSocket, .opening(let opening)): opening.refusal(status:)
        case (.webSocket, .connect), (.webSocket, .request): { .webSocket(.tunnelRefused(status: $0)) }
        }
    }

    /// A response from this process.
    func receive(_ response: ReceivedResponse, from provenance: ResponseDecision.Provenance) {
        switch provenance {
        case .server, .cache: break
        case .local: calls.recordLocalResponse(response.response, to: request, from: .unknown)
        case .userProtocol(let policy):
            calls.recordLocalResponse(response.response, to: request, from: .unknown)
            cacheTransaction = CacheLoader(transfer: transfer, trustsStored: false).collecting(response, policy)
        }
        let decision = ResponseDecision(response.head, framing: response.framing, in: circumstances(of: provenance))
        ResponseHandler(response, to: self, of: transfer).carryOut(decision)
    }

    /// A protocol's response redirects to another request.
    func receiveRedirect(_ response: ReceivedResponse, to next: URLRequest) {
        let limit = maximumRedirects
        guard history.redirects < limit else { return fail(.tooManyRedirects(limit: limit)) }
        ResponseHandler(response, to: self, of: transfer).carryOut(.redirect(next))
    }

    /// A protocol asks the delegate for credentials.
    func receive(
        _ challenge: URLAuthenticationChallenge, from source: LocalExchange,
        answer: @escaping DelegateCalls.ChallengeAnswer
    ) {
        guard calls.hasTaskDelegate else { return answer(.performDefaultHandling, nil) }
        transfer.hold(.deciding)
        calls.ask(challenge) { [weak self] disposition, credential in
            guard let self, self.isExchanging(with: source) else { return }
            self.transfer.continueAfterDecision {
                answer(disposition, credential)
                if disposition == .cancelAuthenticationChallenge { self.fail(.authenticationCancelled) }
            }
        }
    }

    /// What a response means that is the result, though it redirects or asks for credentials.
    func decideAsResult(_ response: ReceivedResponse) -> ResponseDecision {
        upload?.decision(onResult: response.head)
            ?? ResponseDecision.result(response.head, response.framing, circumstances(of: .local))
    }

    /// Whether a response that the delegate was asked about is still the current one.
    func isExchanging(with source: any ResponseSource) -> Bool {
        guard case .exchanging(let current) = phase else { return false }
        return current === source
    }

    func fail(_ failure: TransferFailure) {
        transfer.fail(failure)
    }

    /// All of the content has been delivered: the cache may store the response.
    ///
    /// - Parameter content: The content, where the receiver has collected it.
    func bodyDidEnd(content: Data?) {
        cacheTransaction?.offer(content: content, isFinal: true, calls)
    }

    // MARK: What follows a response

    /// The upload that the request belongs to, where it may be resumed.
    var upload: UploadResumption? { UploadResumption(by: self, of: transfer) }

    /// The history of a request that follows this one.
    ///
    /// - Parameter history: That of this one, as far as it counts for the next.
    func history(_ history: TransactionHistory, before next: URLRequest) -> TransactionHistory {
        history.followed(from: request, to: next, authenticator)
    }

    /// All of the resource is requested, after the response to a request for its rest could not be used. Without a range in
    /// the request the server cannot send a wrong one.
    func requestWhole() {
        transfer.storage?.forgetPoint()
        calls.trace?.record(other: .retry(.wholeResource))
        repeatRequest()
    }

    /// The rest is requested once more, on condition that it is of the version there is.
    func requestRestOfSame() {
        transfer.storage?.requireMatch()
        calls.trace?.record(other: .retry(.restOfSameVersion))
        repeatRequest()
    }

    /// Gives up the response; the storage then requests another.
    func leaveForStorage() {
        let old = phase
        phase = .preparing
        if case .exchanging(let source) = old { source.abandon() }
    }

    private func repeatRequest() {
        let old = phase
        phase = .parked
        if case .exchanging(let source) = old { source.abandon() }
        proceed()
    }

    /// The same request follows, for what the response did not bring.
    func requestRest() {
        phase = .ended
        calls.trace?.record(other: .retry(.nextPart))
        transfer.load(request, history(history, before: request))
    }

    /// Nothing follows: the rest of the response is of no use.
    func abandonRest(of response: ReceivedResponse) {
        phase = .received
        response.source.abandon()
    }

    /// Leaves the response. A short body is read to its end so that the connection can be used again; a long one is not
    /// worth it.
    func leave(_ response: ReceivedResponse, for next: Successor) {
        if response.isShort {
            phase = .leaving(response.source, next)
        } else {
            phase = .parked
            response.source.abandon()
            follow(next)
        }
    }

    private func follow(_ next: Successor) {
        switch next {
        case .request(let request, let history):
            phase = .ended
            transfer.load(request, history)
        case .stored(let stored, let age):
            deliver(stored, age: age)
        case .upload(let continuation):
            phase = .parked
            guard let failure = continuation.failure else {
                upload?.take(continuation.step)
                return
            }
            deliver(failure, failure.head, .none, content: Data(), from: .local)
        }
    }

    // MARK: Credentials

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
        authenticator.step(
            afterChallengeFrom: peer, offers, stored, target: originForm, in: session, outgoing.users(over: route))
    }

    /// The request's target as its server receives it.
    var originForm: String { (try? TargetURI(request.url))?.originForm ?? "/" }

    /// How far authentication to a peer has come.
    func authenticationRound(with peer: AuthenticationPeer) -> AuthenticationRound { authenticator.round(with: peer) }

    /// The next request carries this login.
    func prepare(_ login: Login, for peer: AuthenticationPeer) {
        authenticator.prepare(login, for: peer)
    }

    /// The delegate wants no more of a protection space.
    func reject(_ space: URLProtectionSpace, of peer: AuthenticationPeer) {
        authenticator.reject(space, of: peer)
    }

    // MARK: The connection becomes a stream

    /// Gives the response's connection to a stream task. False when there is none.
    func surrender(_ response: ReceivedResponse) -> (transport: any LoopTransport, surplus: [UInt8])? {
        guard let surrendered = response.source.surrender() else { return nil }
        cacheTransaction = nil
        phase = .parked
        return surrendered
    }

    /// The cache is asked about the request.
    func use(_ cacheTransaction: CacheTransaction) {
        self.cacheTransaction = cacheTransaction
    }

    /// The response is another task's: it is not stored.
    func detachCache() {
        cacheTransaction = nil
    }

    // MARK: Other protocols

    /// RFC 9110 §9.3.6: asks the proxy for a tunnel to the server. RFC 6455 §4.1 item 3: whatever the scheme.
    private func connect(to target: TargetURI, through proxy: HTTPProxy, on connection: HTTPConnection) {
        guard let tunnel = Tunnel(to: target.origin) else {
            return release(connection, failing: .url(.badAuthority))
        }
        let head = outgoing.head(for: tunnel, to: target, through: proxy, &authenticator)
        message = .connect
        guard let bytes = encode(head, for: connection) else { return }
        start(head, bytes, .none, on: connection, mayUpgrade: true)
    }

    /// RFC 6455 §4.1: asks the server to speak WebSocket.
    private func open(_ webSocket: WebSocketConversation, on connection: HTTPConnection, _ target: TargetURI) {
        var head = outgoing.headOfHandshake(at: target, &authenticator)
        message = .opening(WebSocketOpening(of: webSocket, for: transfer, addingTo: &head))
        guard let bytes = encode(head, for: connection) else { return }
        task.setSent(head.fields)
        start(head, bytes, .none, on: connection, mayUpgrade: true)
    }

    func exchange(
        _ source: any ResponseSource, didSwitchTo transport: any LoopTransport, with head: ResponseHead,
        surplus: [UInt8]
    ) {
        if let connection = source as? HTTPConnection, connection.needsTunnel {
            return secure(connection, received: surplus)
        }
        switch (transfer.purpose, message) {
        case (.response, _):
            receiveSwitch(to: transport, head, surplus)
        case (.stream(let stream), _):
            open(stream, over: transport, received: surplus)
        case (.webSocket, .opening(let opening)):
            if let url = request.url { learnSecurity(of: head, from: url, source) }
            guard let url = request.url, let (lane, storing) = outgoing.storeCookies(of: head, from: url) else {
                return complete(opening, over: transport, head, surplus)
            }
            Worker.shared.run(on: lane, storing) { [weak self] _ in
                guard let self, self.isExchanging(with: source) else { return transport.close() }
                self.complete(opening, over: transport, head, surplus)
            }
        case (.webSocket(let webSocket), .connect), (.webSocket(let webSocket), .request):
            open(webSocket, throughTunnel: transport)
        }
    }

    /// The server speaks the protocol that the request asked for. That is a response without a body, unless the delegate
    /// wants the connection.
    private func receiveSwitch(to transport: any LoopTransport, _ head: ResponseHead, _ surplus: [UInt8]) {
        let source = SwitchedConnection(transport, surplus, client: self)
        phase = .exchanging(source)
        exchange(source, didReceive: head, framing: .none)
        source.endUnlessPaused()
    }

    // MARK: Secure connections

    /// Whether the response is that of a proxy, to the request for a tunnel.
    private var isConnecting: Bool {
        if case .connect = message { return true }
        return false
    }

    /// A proxy has not opened a tunnel: it may want credentials.
    private func decideOnTunnel(_ response: ReceivedResponse) {
        if response.head.status == 407 { return decide(response) }
        authenticator.concludeRound(response.head, asking: nil, in: session)
        guard let refusal else { return }
        ResponseHandler(response, to: self, of: transfer).carryOut(.fail(refusal(response.head.status)))
    }

    /// RFC 6797 §8.1: a server may ask to be reached over secure connections alone.
    private func learnSecurity(of head: ResponseHead, from url: URL, _ source: any ResponseSource) {
        guard session.tls != nil, let connection = source as? HTTPConnection, connection.security?.isTrusted == true,
            let field = StrictTransportSecurity(head.fields)
        else { return }
        session.secureHosts.take(field, from: url)
    }

    /// The proxy has connected to the server, which has to prove who it is.
    private func secure(_ connection: HTTPConnection, received surplus: [UInt8]) {
        guard let target = try? TargetURI(request.url), let tls = session.tls else {
            phase = .parked
            return session.pool.release(connection, mayStay: false)
        }
        transfer.deadlines.markProgress()
        let securing = Securing(
            connection.transport, received: surplus, to: SecureServer(target.origin), with: tls, asking: calls
        ) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let security):
                connection.becomeSecure(security)
                self.calls.beginMetrics(of: self.request)
                self.secured(connection)
            case .failure(let failure):
                self.phase = .parked
                self.session.pool.release(connection, mayStay: false)
                self.fail(.tls(failure))
            }
        }
        phase = .securing(securing, connection)
    }

    /// A connection that other tasks have used: the delegate of this one may not have been asked about its server.
    private func askAbout(_ security: ConnectionSecurity, of connection: HTTPConnection) {
        phase = .preparing
        connection.stopWatching()
        let securing = Securing(asking: calls, about: security) { [weak self] failure in
            guard let self else { return }
            guard let failure else { return self.secured(connection) }
            self.phase = .parked
            self.release(connection, mayStay: true)
            self.fail(.tls(failure))
        }
        // The answer may have come already.
        if case .preparing = phase, securing.isAsking { phase = .securing(securing, connection) }
    }

    /// The connection may carry the request now, unless the task is suspended: then another connection will.
    private func secured(_ connection: HTTPConnection) {
        guard !transfer.isSuspended, let target = try? TargetURI(request.url), let body = preparedBody() else {
            phase = .parked
            return release(connection, mayStay: true)
        }
        begin(body, on: connection, target)
    }

    /// Gives up a connection that was to carry the request.
    private func release(_ connection: HTTPConnection, mayStay: Bool) {
        connection.updateInterest()
        session.pool.release(connection, mayStay: mayStay)
    }

    /// The proxy has connected: the handshake goes the same way.
    private func open(_ webSocket: WebSocketConversation, throughTunnel transport: any LoopTransport) {
        guard let target = try? TargetURI(request.url) else { return transport.close() }
        route = .direct
        let connection = session.pool.adopt(transport, as: .server(target.origin))
        phase = .exchanging(connection)
        calls.beginMetrics(of: request)
        open(webSocket, on: connection, target)
    }

    /// The server has switched protocols: the connection carries messages, if it has agreed to that.
    private func complete(
        _ opening: WebSocketOpening, over transport: any LoopTransport, _ head: ResponseHead, _ surplus: [UInt8]
    ) {
        guard let url = request.url else { return transport.close() }
        let response = makeResponse(head, from: url)
        authenticator.concludeRound(head, asking: nil, in: session)
        do throws(WebSocketHandshakeError) {
            let agreement = try opening.agreement(in: head)
            phase = .conversing(opening.conversation)
            opening.complete(agreement, response, from: url, over: transport, received: surplus)
        } catch {
            transport.close()
            phase = .parked
            task.setResponse(response, received: 0, expected: 0)
            fail(.webSocket(.handshake(error)))
        }
    }

    func open(_ stream: StreamConversation, over transport: any LoopTransport, received bytes: [UInt8]) {
        phase = .conversing(stream)
        task.startCountingStream()
        stream.isPaused = transfer.isHeld
        stream.open(transport, received: bytes, limits: session.pool.settings.rates, for: StreamUpgrade(transfer))
    }
}
