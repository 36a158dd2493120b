import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// One request and its response.
///
/// Theory of operation: ``proceed()`` is the one place that decides, in order, what provides the response: a protocol of the
/// user's, a `data:` or a `file:` URL, the cache, or a server; before the last two a cookie storage of the user's own is asked
/// for cookies. Each of them can take its time, and then calls `proceed` again, which continues with the same provider or the
/// next. The one that accepts the request provides a ``ResponseSource``, whose head ``ResponseDecision`` judges once;
/// ``ResponseHandler`` carries out the decision. Then the body goes to a ``BodyReceiver``, or another transaction follows: a
/// redirect, a challenge and an expectation that failed make a new one from the history of this one. A retry sends the same
/// one again.
///
/// What is sent is put together by ``OutgoingRequest``, the connection that carries it is acquired by
/// ``ConnectionAcquisition``; ``Succession`` decides what follows a response that is not the result, ``UploadResumption`` how
/// an upload continues, ``WebSocketOpening`` whether a WebSocket is open. The table of the phases is ``TransactionPhase``.
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

    /// The phases of the table, with what belongs to them.
    private enum Phase {
        case parked
        case preparing
        case acquiring(ConnectionAcquisition)
        case exchanging(any ResponseSource, Message)
        indirect case leaving(any ResponseSource, Successor)
        case conversing(any Conversation)
        case received
        case ended

        // Inlined, so that the payload is not copied to look at the case.
        @inline(__always) var name: TransactionPhase {
            switch self {
            case .parked: .parked
            case .preparing: .preparing
            case .acquiring: .acquiring
            case .exchanging: .exchanging
            case .leaving: .leaving
            case .conversing: .conversing
            case .received: .received
            case .ended: .ended
            }
        }
    }

    /// What was sent, and so what its response means.
    private enum Message {
        case request
        case opening(WebSocketOpening)
        /// The request for a tunnel, which the proxy has refused.
        case tunnel
    }

    /// What the request carries when it is sent.
    let outgoing: OutgoingRequest
    /// The host wants secure connections, and the URL was not for one.
    private let isUpgraded: Bool
    private let transfer: Transfer
    private let calls: DelegateCalls
    /// Confirms or stores a response, where there is a cache for the request.
    private(set) var cacheTransaction: CacheTransaction?
    /// The one that is asked next.
    private var provider: Provider
    private var phase = Phase.parked
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
        body = history.readyBody
        self.transfer = transfer
        calls = transfer.calls
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

    /// Enters a phase. False when the table refuses it, and then nothing changes.
    @discardableResult
    private func enter(_ next: Phase) -> Bool {
        guard phase.name.precedes(next.name) else { return false }
        phase = next
        return true
    }

    /// Enters a phase, and ends at once what ran before. Nothing is called any more.
    @discardableResult
    private func stop(entering next: Phase) -> Bool {
        let old = phase
        guard enter(next) else { return false }
        switch old {
        case .parked, .preparing, .received, .ended: break
        case .acquiring(let acquisition): acquisition.abandon()
        case .exchanging(let source, _), .leaving(let source, _): source.abandon()
        case .conversing(let conversation): conversation.abandon()
        }
        return true
    }

    // MARK: Messages from the transfer

    /// What is expected of the network.
    ///
    /// - Parameter isHeld: Nothing is read from a connection.
    func expectation(isHeld: Bool) -> Deadlines.Expectation {
        switch phase {
        case .parked, .preparing, .received, .ended: .nothing
        case .acquiring(let acquisition): acquisition.expectation(isHeld: isHeld)
        case .exchanging(let source, _), .leaving(let source, _): isHeld || source.mayBeIdle ? .nothing : .progress
        case .conversing(let conversation): isHeld || conversation.mayBeIdle ? .nothing : .progress
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
        return Transaction(request, of: transfer, history: outgoing.history(before: request))
    }

    /// Whether a response is being received or has been, and its body may be delivered.
    var hasResponse: Bool {
        switch phase {
        case .exchanging, .received: true
        case .parked, .preparing, .acquiring, .leaving, .conversing, .ended: false
        }
    }

    /// The task is no longer suspended: continues where it was suspended.
    func resume() {
        switch phase {
        case .parked: proceed()
        case .acquiring(let acquisition): acquisition.resume()
        case .preparing, .exchanging, .leaving, .conversing, .received, .ended: break
        }
    }

    /// The task is suspended. A connection that is there stays, and is paused.
    func suspend() {
        if case .acquiring(let acquisition) = phase { acquisition.suspend() }
    }

    /// Stops or continues reading from, and writing to, the source of the response.
    func setPaused(_ isPaused: Bool) {
        switch phase {
        case .acquiring(let acquisition): acquisition.setPaused(isPaused)
        case .exchanging(let source, _), .leaving(let source, _): source.isPaused = isPaused
        case .conversing(let conversation): conversation.isPaused = isPaused
        case .parked, .preparing, .received, .ended: break
        }
    }

    func priorityChanged() {
        if case .acquiring(let acquisition) = phase { acquisition.priorityChanged() }
    }

    /// Ends at once, in whatever phase. Nothing is called any more.
    func abandon() {
        stop(entering: .ended)
    }

    /// The stored response takes the place of a failure, if it may (RFC 5861 §4). True when it does.
    func recovers(from failure: TransferFailure) -> Bool {
        guard failure.isUnreachability, let (stored, age) = cacheTransaction?.replacementForFailure,
            stop(entering: .parked)
        else { return false }
        deliver(stored, age: age)
        return true
    }

    // MARK: What provides the response

    /// Continues with the next provider: asks the loaders in order, then sends the request.
    func proceed() {
        guard !transfer.isSuspended else {
            enter(.parked)
            return
        }
        guard enter(.preparing) else { return }
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
            // A weak reference would make each count of references to the transaction slower.
            let isAsking = outgoing.asksForCookies {
                { [weak self] cookies in
                    guard let self, self.awaitsLoader else { return }
                    self.outgoing.takeCookies(cookies)
                    self.proceed()
                }
            }
            if isAsking { return }
        }
        guard let target = findTarget() else { return }
        if case .cache = provider {
            provider = .network
            if CacheLoader(transfer: transfer, trustsStored: history.trustsCache).loads(self) { return }
        }
        if preparedBody() != nil { acquireConnection(to: target) }
    }

    private func findTarget() -> TargetURI? {
        do throws(TargetURI.Refusal) {
            let target = try outgoing.target(for: transfer.purpose)
            if isUpgraded { task.setCurrentRequest(request) }
            return target
        } catch {
            fail(.url(error))
            return nil
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
        guard transfer.isSuspended else { return true }
        enter(.parked)
        return false
    }

    /// The response comes from a loader.
    func begin(_ exchange: LocalExchange) {
        guard enter(.exchanging(exchange, .request)) else { return exchange.abandon() }
        body = nil
        // The entry for an earlier response is not for this one.
        cacheTransaction = nil
        calls.trace?.record(.localResponse)
        transfer.deadlines.watchProgress(of: request)
        exchange.isPaused = transfer.isHeld
    }

    /// A response whose content is complete in memory is the response.
    func deliver(_ local: LocalResponse) {
        let exchange = LocalExchange(for: self)
        begin(exchange)
        exchange.push(.response(local.response, local.head, local.framing, local.provenance))
        exchange.push(.content(local.content))
        exchange.push(.end)
    }

    /// What confirms or stores the response; `nil` for one that the cache has no part in, or that is another task's.
    func use(_ cacheTransaction: CacheTransaction?) {
        self.cacheTransaction = cacheTransaction
    }

    /// A stored response is the response.
    func deliver(_ stored: CachedURLResponse, age: Int64?) {
        if let url = request.url { deliver(.stored(stored, age: age, at: url)) }
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
            // The program has no other stream: what counts is why another was wanted.
            if case .repeated(let lost) = attempt, case .noStream = failure { return fail(.exchange(lost)) }
            fail(.body(failure))
        }
    }

    // MARK: The connection

    private func acquireConnection(to target: TargetURI) {
        let acquisition = ConnectionAcquisition(for: self, of: transfer, to: target, attempt)
        guard enter(.acquiring(acquisition)) else { return }
        acquisition.resume()
    }

    /// The connection is acquired, or cannot be.
    func take(_ outcome: ConnectionAcquisition.Outcome, to target: TargetURI) {
        switch outcome {
        case .failed(let failure):
            fail(failure)
        case .refused(let response, let connection):
            connection.report(to: self)
            enter(.exchanging(connection, .tunnel))
            judge.decideOnTunnel(response)
        case .ready(let connection, let bytes):
            switch transfer.purpose {
            case .response:
                send(on: connection, to: target)
            case .webSocket(let conversation):
                var head = outgoing.headOfHandshake(at: target)
                let opening = WebSocketOpening(of: conversation, for: transfer, addingTo: &head)
                start(.opening(opening), head, .none, on: connection)
            case .stream(let stream):
                calls.currentMetrics?.markRequestStart(on: connection, fields: nil)
                guard let (transport, surplus) = connection.surrender() else { return }
                open(stream, over: transport, received: bytes + surplus)
            }
        }
    }

    private func send(on connection: HTTPConnection, to target: TargetURI) {
        guard let body else { return release(connection, failing: .body(.noStream)) }
        // To be sent again it has to be prepared again.
        self.body = nil
        let head = outgoing.head(with: body, at: target, cacheTransaction)
        if let fault = RequestComposer.fault(in: head, body.framing) {
            return release(connection, failing: .request(fault))
        }
        start(.request, head, body, on: connection)
    }

    private func start(_ message: Message, _ head: RequestHead, _ body: OutgoingBody, on connection: HTTPConnection) {
        var bytes: [UInt8] = []
        do throws(EncodeError) {
            try head.encode(into: &bytes)
        } catch {
            return release(connection, failing: .request(error))
        }
        enter(.exchanging(connection, message))
        let mayUpgrade: Bool
        if case .request = message {
            outgoing.markSent(head.fields, body)
            mayUpgrade = outgoing.mayUpgrade
        } else {
            task.setSent(head.fields)
            mayUpgrade = true
        }
        outgoing.start(head, encoded: bytes, body, on: connection, mayUpgrade: mayUpgrade, client: self)
    }

    /// Fails before anything was sent: the connection stays in the pool.
    private func release(_ connection: HTTPConnection, failing failure: TransferFailure) {
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
        outgoing.reportInterim(head)
        upload?.receiveInterim(head)
    }

    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming) {
        guard let url = request.url, let response = outgoing.receive(head, framing, from: source) else { return }
        session.secureHosts.learn(from: head, of: url, over: source)
        guard let (lane, storing) = outgoing.storeCookies(of: head, from: url) else { return judge.decide(response) }
        transfer.hold(.deciding)
        Worker.shared.run(on: lane, storing) { [weak self] _ in
            guard let self, self.isExchanging(with: source) else { return }
            self.transfer.continueAfterDecision { self.judge.decide(response) }
        }
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
        enter(.received)
        transfer.receiver?.finish()
    }

    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure) {
        if case .leaving(_, let next) = phase {
            // The response has served its purpose.
            return follow(next)
        }
        enter(.parked)
        guard
            let unanswered = UnansweredRequest(failure, of: source, attempt: attempt, method: request.method),
            unanswered.mayBeSentAgain, outgoing.bodyPreparer.mayPrepareAgain
        else { return fail(.exchange(failure)) }
        attempt = .repeated(after: failure)
        sendAgain(.idleConnectionClosed)
    }

    // MARK: What a response means

    var judge: ResponseJudge { ResponseJudge(of: self, for: transfer) }

    /// Why a response is a failure where another protocol was asked for.
    var refusal: ((_ status: Int) -> TransferFailure)? {
        guard case .exchanging(_, let message) = phase else { return nil }
        switch (message, transfer.purpose) {
        case (.request, _): return nil
        case (.opening(let opening), _): return opening.refusal(status:)
        case (.tunnel, .response): return { .tls(.tunnelRefused(status: $0)) }
        case (.tunnel, .stream): return { .stream(.tunnelRefused(status: $0)) }
        case (.tunnel, .webSocket): return { .webSocket(.tunnelRefused(status: $0)) }
        }
    }

    /// Whether a response that the delegate was asked about is still the current one.
    func isExchanging(with source: any ResponseSource) -> Bool {
        guard case .exchanging(let current, _) = phase else { return false }
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

    /// The delegate is asked about a response that leads to another request: what is left of it is received meanwhile.
    /// Returns the response with its new source.
    func setAside(_ response: ReceivedResponse) -> ReceivedResponse {
        guard case .exchanging(let source as HTTPConnection, let message) = phase else { return response }
        let rest = ResponseSetAside(from: source, for: self)
        enter(.exchanging(rest, message))
        rest.receive()
        return response.from(rest)
    }

    // MARK: What follows a response

    /// The upload that the request belongs to, where it may be resumed.
    var upload: UploadResumption? { UploadResumption(by: self, of: transfer) }

    /// Gives up the response; the storage then requests another.
    func leaveForStorage() {
        stop(entering: .preparing)
    }

    /// Gives up the response, and sends the same request again.
    func sendAgain(_ reason: TransferTrace.RetryReason) {
        calls.trace?.record(other: .retry(reason))
        if stop(entering: .parked) { proceed() }
    }

    /// Nothing follows: the rest of the response is of no use.
    func abandonRest(of response: ReceivedResponse) {
        stop(entering: .received)
    }

    /// Leaves the response. A short body is read to its end so that the connection can be used again; a long one is not
    /// worth it.
    func leave(_ response: ReceivedResponse, for next: Successor) {
        if response.isShort {
            enter(.leaving(response.source, next))
        } else if stop(entering: .parked) {
            follow(next)
        }
    }

    private func follow(_ next: Successor) {
        switch next {
        case .request(let request, let history):
            enter(.ended)
            // A proxy has refused the tunnel: the body was not touched.
            transfer.load(request, history.keeping(body))
        case .stored(let stored, let age):
            enter(.parked)
            deliver(stored, age: age)
        case .upload(let continuation):
            enter(.parked)
            guard let failure = continuation.failure else {
                upload?.take(continuation.step)
                return
            }
            deliver(LocalResponse(failure, failure.head, .none, Data(), from: .local))
        }
    }

    /// Gives the response's connection to a stream task. False when there is none.
    func surrender(_ response: ReceivedResponse) -> (transport: any LoopTransport, surplus: [UInt8])? {
        guard let surrendered = response.source.surrender() else { return nil }
        cacheTransaction = nil
        enter(.parked)
        return surrendered
    }

    // MARK: Other protocols

    func exchange(
        _ source: any ResponseSource, didSwitchTo transport: any LoopTransport, with head: ResponseHead,
        surplus: [UInt8]
    ) {
        guard case .exchanging(_, let message) = phase else { return transport.close() }
        guard case .opening(let opening) = message, let url = request.url else {
            return receiveSwitch(to: transport, head, surplus)
        }
        session.secureHosts.learn(from: head, of: url, over: source)
        guard let (lane, storing) = outgoing.storeCookies(of: head, from: url) else {
            return complete(opening, over: transport, head, surplus)
        }
        Worker.shared.run(on: lane, storing) { [weak self] _ in
            guard let self, self.isExchanging(with: source) else { return transport.close() }
            self.complete(opening, over: transport, head, surplus)
        }
    }

    /// The server speaks the protocol that the request asked for. That is a response without a body, unless the delegate
    /// wants the connection.
    private func receiveSwitch(to transport: any LoopTransport, _ head: ResponseHead, _ surplus: [UInt8]) {
        let source = SwitchedConnection(transport, surplus, client: self)
        enter(.exchanging(source, .request))
        exchange(source, didReceive: head, framing: .none)
        source.endUnlessPaused()
    }

    /// The server has switched protocols: the connection carries messages, if it has agreed to that.
    private func complete(
        _ opening: WebSocketOpening, over transport: any LoopTransport, _ head: ResponseHead, _ surplus: [UInt8]
    ) {
        guard let url = request.url, let response = outgoing.makeResponse(head) else { return transport.close() }
        outgoing.concludeAuthentication(head, asking: nil)
        do throws(WebSocketHandshakeError) {
            let agreement = try opening.agreement(in: head)
            enter(.conversing(opening.conversation))
            opening.complete(agreement, response, from: url, over: transport, received: surplus)
        } catch {
            transport.close()
            enter(.parked)
            task.setResponse(response, received: 0, expected: 0)
            fail(.webSocket(.handshake(error)))
        }
    }

    func open(_ stream: StreamConversation, over transport: any LoopTransport, received bytes: [UInt8]) {
        enter(.conversing(stream))
        task.startCountingStream()
        stream.isPaused = transfer.isHeld
        stream.open(transport, received: bytes, limits: session.pool.settings.rates, for: StreamUpgrade(transfer))
    }
}
