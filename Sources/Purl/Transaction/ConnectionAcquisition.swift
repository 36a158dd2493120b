import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Acquires the connection that carries a transaction's request.
///
/// In this order: the way there, which the rules for proxies prescribe; a place in the pool's queue, and a new connection where none is idle; a tunnel, where a proxy has to
/// connect to the server, which is an exchange of its own with the proxy; TLS behind the tunnel, since the pool has secured
/// any other connection; and the question whether this task trusts the server, which may have been accepted for another one.
///
/// ```
/// parked ⇄ leasing ─► waiting ─┬─► connecting ─► securing ─┬─► over
///    ▲                    │    └─────────► asking ─────────┤
///    └─ redial, suspended ┴────────────────────────────────┘
/// ```
/// It yields one outcome, and then it is over.
@NetworkActor
final class ConnectionAcquisition: ExchangeClient {
    enum Outcome {
        /// The connection may carry the request; these bytes have arrived over it already.
        case ready(HTTPConnection, received: [UInt8])
        /// The proxy has not opened a tunnel, but has sent this response: it may want credentials. What else comes with the
        /// exchange is for another client to receive.
        case refused(ReceivedResponse, HTTPConnection)
        case failed(TransferFailure)
    }

    private enum Phase {
        /// Not begun, suspended without a connection, or waiting to dial again.
        case parked
        /// The pool is asked for a connection, and may provide it within the call.
        case leasing
        case waiting(ConnectionPool.Waiter)
        /// The proxy is asked for a tunnel to the server.
        case connecting(HTTPConnection)
        /// A connection is about to become secure, or the delegate to be asked, which may be over within the call.
        case asking
        /// A connection becomes secure, or the delegate is asked about one that is.
        case securing(Securing, HTTPConnection)
        case over
    }

    /// Receives the outcome; released when the acquisition is over.
    private var transaction: Transaction?
    private let transfer: Transfer
    private let outgoing: OutgoingRequest
    private let target: TargetURI
    private var attempt: UnansweredRequest.Attempt
    private var phase = Phase.parked

    /// - Parameter attempt: How often the request has been sent.
    init(
        for transaction: Transaction, of transfer: Transfer, to target: TargetURI, _ attempt: UnansweredRequest.Attempt
    ) {
        self.transaction = transaction
        self.transfer = transfer
        self.target = target
        self.attempt = attempt
        outgoing = transaction.outgoing
    }

    private var session: URLSession { transfer.session }
    private var calls: DelegateCalls { transfer.calls }

    // MARK: Messages from the transaction

    /// Begins, or begins again after the task was suspended. The outcome may come within the call.
    func resume() {
        guard case .parked = phase, !transfer.isSuspended else { return }
        do throws(ProxyFault) {
            lease(over: Route(through: try session.proxies.proxy(for: target)))
        } catch {
            fail(.proxy(error))
        }
    }

    /// The task is suspended. A place in the pool's queue is given up; a connection that is there stays.
    func suspend() {
        guard case .waiting(let waiter) = phase else { return }
        waiter.cancel()
        phase = .parked
    }

    /// Stops or continues the exchange with a proxy.
    func setPaused(_ isPaused: Bool) {
        if case .connecting(let connection) = phase { connection.isPaused = isPaused }
    }

    func priorityChanged() {
        if case .waiting(let waiter) = phase { waiter.move(to: calls.task.priority) }
    }

    /// What is expected of the network.
    ///
    /// - Parameter isHeld: Nothing is read from a connection.
    func expectation(isHeld: Bool) -> Deadlines.Expectation {
        switch phase {
        case .parked, .leasing, .asking, .over: .nothing
        case .connecting(let connection): isHeld || connection.mayBeIdle ? .nothing : .progress
        case .waiting(let waiter):
            waiter.awaitsDelegate ? .nothing : waiter.dialStart.map { .progressSince($0) } ?? .nothing
        case .securing(let securing, _): securing.isAsking ? .nothing : .progress
        }
    }

    /// Ends at once, without an outcome.
    func abandon() {
        let old = phase
        phase = .over
        transaction = nil
        switch old {
        case .parked, .leasing, .asking, .over: break
        case .waiting(let waiter): waiter.cancel()
        case .connecting(let connection): connection.abandon()
        case .securing(let securing, let connection):
            securing.cancel()
            // One that is secure already is another task's to use.
            release(connection, mayStay: connection.security != nil)
        }
    }

    private func end(_ outcome: Outcome) {
        phase = .over
        let transaction = transaction
        self.transaction = nil
        transaction?.take(outcome, to: target)
    }

    private func fail(_ failure: TransferFailure) {
        end(.failed(failure))
    }

    /// Gives a connection back that was to carry the request.
    private func release(_ connection: HTTPConnection, mayStay: Bool) {
        connection.updateInterest()
        session.pool.release(connection, mayStay: mayStay)
    }

    // MARK: Dialling

    private func lease(over route: Route) {
        let request = outgoing.request
        outgoing.use(route)
        calls.beginMetrics(of: request)
        transfer.deadlines.stopRedialling()
        transfer.deadlines.watchProgress(of: request)
        // The request may have waited since its URL was accepted, and the program have taken its provider away.
        let tls = session.tls
        guard tls != nil || !target.origin.isSecure else { return fail(.url(.secureScheme(target.origin.scheme))) }
        let hop = route.nextHop(to: target)
        let demand = attempt.demand(for: request.method, isRecoverable: outgoing.history.isResumedUpload)
        if let connection = session.pool.takeIdle(to: hop, for: demand) { return use(connection) }
        phase = .leasing
        calls.trace?.waits(for: hop)
        let waiter = session.pool.lease(
            hop, priority: calls.task.priority, demand: demand, timeLimit: transfer.deadlines.dialLimit(of: request),
            watcher: calls.trace, securer: tls.map { TaskSecurer(settings: $0, calls: calls) }
        ) { [weak self] result in self?.leased(result) }
        // The connection may have been provided already.
        if case .leasing = phase { phase = .waiting(waiter) }
    }

    private func leased(_ result: Result<HTTPConnection, ConnectionFailure>) {
        switch result {
        case .success(let connection):
            use(connection)
        case .failure(let error):
            if case .waiting(let waiter) = phase { calls.currentMetrics?.markFailedDial(waiter.dialTimes) }
            switch error {
            case .dial(let error):
                calls.trace?.record(other: .dialFailed(reason: error.description.asReason))
                noConnection(error)
            case .security(let error):
                let failure = error as? TLSFailure ?? .library(TLSError(error))
                calls.trace?.record(other: .dialFailed(reason: failure.explanation.sentence.asReason))
                fail(.tls(failure))
            }
        }
    }

    /// A session that waits for connectivity dials again later, unless waiting cannot help. A background session always
    /// does, without a call.
    private func noConnection(_ error: DialError) {
        let settings = session.settings
        guard settings.waitsForConnectivity || settings.isBackground, error.isTransient else {
            return fail(outgoing.route.failure(error))
        }
        phase = .parked
        if !settings.isBackground, transfer.deadlines.hasNeverRedialled { calls.reportWaitingForConnectivity() }
        calls.trace?.record(other: .redial)
        transfer.deadlines.redial { [weak self] in self?.resume() }
    }

    private func use(_ connection: HTTPConnection) {
        if let security = connection.security {
            guard security.isApproved(for: calls) else { return ask(about: security, of: connection) }
            outgoing.use(.direct)
        }
        calls.trace?.connected(connection)
        transfer.deadlines.markProgress()
        if case .proxy(let proxy) = outgoing.route, needsTunnel(over: connection) {
            openTunnel(through: proxy, over: connection)
        } else {
            end(.ready(connection, received: []))
        }
    }

    // MARK: Tunnels

    /// RFC 6455 §4.1 item 3: a WebSocket goes through a tunnel whatever its scheme; so does a stream, which is not HTTP.
    private func needsTunnel(over connection: HTTPConnection) -> Bool {
        switch transfer.purpose {
        case .response: connection.needsTunnel
        case .webSocket, .stream: true
        }
    }

    /// RFC 9110 §9.3.6: asks the proxy to connect to the server.
    private func openTunnel(through proxy: HTTPProxy, over connection: HTTPConnection) {
        guard let tunnel = Tunnel(to: target.origin.endpoint) else {
            release(connection, mayStay: true)
            return fail(.url(.badAuthority))
        }
        phase = .connecting(connection)
        let head = outgoing.head(for: tunnel, to: target, through: proxy)
        do throws(EncodeError) {
            var bytes: [UInt8] = []
            try head.encode(into: &bytes)
            outgoing.start(head, encoded: bytes, .none, on: connection, mayUpgrade: true, client: self)
        } catch {
            release(connection, mayStay: true)
            fail(.request(error))
        }
    }

    func exchangeMadeProgress(_ source: any ResponseSource) {
        transfer.deadlines.markProgress()
    }

    func exchange(_ source: any ResponseSource, didReceiveInterim head: ResponseHead) {
        outgoing.reportInterim(head)
    }

    /// The proxy refuses, or wants credentials. What follows the head is for another client.
    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming) {
        guard case .connecting(let connection) = phase, let response = outgoing.receive(head, framing, from: source)
        else { return }
        end(.refused(response, connection))
    }

    /// The tunnel is open: the server is at its other end.
    func exchange(
        _ source: any ResponseSource, didSwitchTo transport: any LoopTransport, with head: ResponseHead,
        surplus: [UInt8]
    ) {
        guard case .connecting(let connection) = phase else { return transport.close() }
        if connection.needsTunnel { return secure(connection, received: surplus) }
        outgoing.use(.direct)
        calls.beginMetrics(of: outgoing.request)
        end(.ready(session.pool.adopt(transport, as: .server(target.origin)), received: surplus))
    }

    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure) {
        let unanswered = UnansweredRequest(failure, of: source, attempt: attempt, method: outgoing.request.method)
        guard unanswered?.mayBeSentAgain == true else { return tunnelFailed(with: failure) }
        attempt = .repeated(after: failure)
        calls.trace?.record(other: .retry(.idleConnectionClosed))
        phase = .parked
        resume()
    }

    /// What the proxy has answered, or not, is not the server's: to that nothing has been sent.
    private func tunnelFailed(with failure: ExchangeFailure) {
        guard case .proxy(let proxy) = outgoing.route else { return fail(.exchange(failure)) }
        let refused = ProxyDialFailure(
            kind: .http, proxy: proxy.endpoint, server: target.origin.endpoint, failure: TunnelFailure.exchange(failure)
        )
        noConnection(refused.dialError)
    }

    // A request for a tunnel has no body, and of a response only the head is received here.
    func exchange(_ source: any ResponseSource, didSendBodyBytes count: Int) {}
    func exchange(_ source: any ResponseSource, didReceive bytes: UnsafeRawBufferPointer) {}
    func exchange(_ source: any ResponseSource, didMoveContent count: Int) {}
    func exchangeDidFinish(_ source: any ResponseSource) {}

    // MARK: Trust

    /// The proxy has connected to the server, which has to prove who it is.
    private func secure(_ connection: HTTPConnection, received surplus: [UInt8]) {
        guard let tls = session.tls else {
            session.pool.release(connection, mayStay: false)
            return fail(.url(.secureScheme(target.origin.scheme)))
        }
        transfer.deadlines.markProgress()
        phase = .asking
        let securing = Securing(
            connection.transport, received: surplus, to: SecureServer(target.origin), with: tls, asking: calls
        ) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let security):
                connection.becomeSecure(security)
                self.calls.beginMetrics(of: self.outgoing.request)
                self.trust(connection)
            case .failure(let failure):
                self.session.pool.release(connection, mayStay: false)
                self.fail(.tls(failure))
            }
        }
        if case .asking = phase { phase = .securing(securing, connection) }
    }

    /// A connection that other tasks have used: the delegate of this one may not have been asked about its server.
    private func ask(about security: ConnectionSecurity, of connection: HTTPConnection) {
        phase = .asking
        connection.stopWatching()
        let securing = Securing(asking: calls, about: security) { [weak self] failure in
            guard let self else { return }
            guard let failure else { return self.trust(connection) }
            self.release(connection, mayStay: true)
            self.fail(.tls(failure))
        }
        if case .asking = phase { phase = .securing(securing, connection) }
    }

    /// The connection may carry the request now, unless the task is suspended: then another connection will.
    private func trust(_ connection: HTTPConnection) {
        guard !transfer.isSuspended else {
            phase = .parked
            return release(connection, mayStay: true)
        }
        use(connection)
    }
}
