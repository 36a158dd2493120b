internal import PurlHTTP
package import PurlIO

/// The next hop of a request: its server, or a proxy.
package enum NextHop: Hashable, Sendable {
    case server(Origin)
    /// The connections to it are shared by all servers behind it.
    case proxy(Endpoint)
    /// A secure server behind a proxy, which connects to it alone.
    case tunnel(Origin, through: Endpoint)
    /// The server, over connections that a SOCKS proxy makes.
    indirect case socks(SOCKSProxy, Origin)

    package var endpoint: Endpoint {
        switch self {
        case .server(let origin): origin.endpoint
        case .proxy(let endpoint), .tunnel(_, let endpoint): endpoint
        case .socks(_, let origin): origin.endpoint
        }
    }

    /// The server; `nil` where there may be many.
    package var origin: Origin? {
        switch self {
        case .server(let origin), .tunnel(let origin, _), .socks(_, let origin): origin
        case .proxy: nil
        }
    }

    /// What makes connections to the hop, with what makes those of the session.
    func dialler(over dialler: any Dialler) -> any Dialler {
        switch self {
        case .server, .proxy, .tunnel: dialler
        case .socks(let proxy, _): SOCKSDialler(proxy, over: dialler)
        }
    }

    /// What is spoken to the hop, for a connector.
    package var scheme: String {
        switch self {
        case .server(let origin), .socks(_, let origin): origin.scheme
        case .proxy, .tunnel: "http"
        }
    }

    /// How many connections to the hop may be open, where the configuration allows `limit` for each host.
    ///
    /// RFC 6455 §4.1 item 2: one WebSocket handshake at a time. Once it is over the connection is no longer in the pool,
    /// nor is that of a stream, of which there may be any number.
    func limit(perHost limit: Int) -> Int {
        guard let origin else { return limit }
        if origin.isStream { return .max }
        return origin.isWebSocket ? 1 : limit
    }
}

/// Why there is no connection.
package enum ConnectionFailure: Error {
    case dial(DialError)
    /// It could not be made secure, or its server is not trusted.
    case security(any Error)
}

/// A session's connections: kept alive, reused, and never more to one hop than the configuration allows.
///
/// Each hop has a lane, whose ``ConnectionSchedule`` knows its idle connections and the exchanges that wait for one, and
/// decides who gets which. The pool does what is decided: it dials, closes, and answers those who wait.
@NetworkActor
package final class ConnectionPool {
    /// A wait for a connection. It gets exactly one answer, unless it is cancelled first.
    @NetworkActor
    package final class Waiter: ConnectionWaiter {
        /// When dialling began for it; `nil` while it waits for a place.
        package private(set) var dialStart: MonotonicTime?
        /// How far dialling has come; at its end.
        package private(set) var dialTimes: DialTimes?
        package private(set) var priority: Float
        let demand: ConnectionDemand
        /// How long the request waits for a connection once dialling has begun; `nil` for no limit.
        fileprivate let timeLimit: Duration?
        fileprivate let lane: Lane
        /// Makes the connection secure, where the server wants that.
        fileprivate let securer: (any ConnectionSecurer)?
        private var answer: ((Result<HTTPConnection, ConnectionFailure>) -> Void)?
        private var dial: (any Dial)?
        private var securing: (any PendingSecurity)?
        private let watcher: (any DialWatcher)?
        private weak var pool: ConnectionPool?

        fileprivate init(
            lane: Lane, pool: ConnectionPool, priority: Float, demand: ConnectionDemand, timeLimit: Duration?,
            watcher: (any DialWatcher)?, securer: (any ConnectionSecurer)?,
            answer: @escaping (Result<HTTPConnection, ConnectionFailure>) -> Void
        ) {
            self.lane = lane
            self.watcher = watcher
            self.securer = securer
            self.pool = pool
            self.priority = priority
            self.demand = demand
            self.timeLimit = timeLimit
            self.answer = answer
        }

        var isWaiting: Bool { answer != nil && dial == nil && securing == nil }

        /// The server is not waited for, but the delegate, which has been asked whether to trust it.
        package var awaitsDelegate: Bool { securing?.isAsking == true }

        /// Waits from now on among those of another priority, behind those who have waited there.
        package func move(to priority: Float) {
            guard priority != self.priority, isWaiting, pool?.phase == .open else { return }
            self.priority = priority
            lane.schedule.append(self)
        }

        /// Gives up the place in the queue, or the dialling that had begun.
        package func cancel() {
            guard answer != nil else { return }
            answer = nil
            if let dial {
                dial.cancel()
                dialTimes = dial.times
                self.dial = nil
            } else if let securing {
                securing.cancel()
                self.securing = nil
            } else {
                return
            }
            pool?.closed(lane)
        }

        fileprivate func setDial(_ dial: any Dial) {
            self.dial = dial
            dialStart = pool?.clock.now
            watcher?.watch(dial, to: lane.hop)
        }

        /// Dialling is over. Returns whether a connection is still wanted.
        fileprivate func endDial() -> Bool {
            dialTimes = dial?.times
            dial = nil
            return answer != nil
        }

        /// Makes the connection that was dialled secure.
        fileprivate func secure(
            _ transport: any LoopTransport, to origin: Origin, with securer: any ConnectionSecurer,
            completion: @escaping ConnectionSecurer.Completion
        ) {
            securing = securer.secure(transport, received: [], to: origin) { [weak self] in
                self?.securing = nil
                completion($0)
            }
        }

        /// No descriptor was left for it: it waits for a place again.
        fileprivate func waitAgain() {
            dialStart = nil
            lane.schedule.append(self)
        }

        fileprivate func finish(_ result: Result<HTTPConnection, ConnectionFailure>) {
            let answer = answer
            self.answer = nil
            answer?(result)
        }
    }

    /// The connections to one hop. Connections and waiters know theirs, so that a request looks it up once.
    @NetworkActor
    package final class Lane {
        package let hop: NextHop
        /// New connections lead to a proxy, which is asked for a tunnel.
        let isTunnel: Bool
        fileprivate var schedule: ConnectionSchedule<Waiter, HTTPConnection>

        /// Its place among the lanes of the pool, in the order in which they were made.
        fileprivate let number: Int

        fileprivate init(_ hop: NextHop, number: Int, limit: Int) {
            self.hop = hop
            self.number = number
            if case .tunnel = hop { isTunnel = true } else { isTunnel = false }
            schedule = ConnectionSchedule(limit: limit)
        }
    }

    fileprivate enum Phase {
        case open
        /// The session is over, or its tasks are about to be cancelled.
        case closed
    }

    /// How long an idle connection is kept, unless the server's `Keep-Alive` field allows less.
    private static let idleLimit: Duration = .seconds(60)
    /// A server that closes a connection after its response has done so by then.
    private static let closingTime: Duration = .milliseconds(100)

    package let settings: PoolSettings
    package var clock: SessionClock { settings.clock }
    var headLimits: HeadLimits { settings.headLimits }

    fileprivate private(set) var phase = Phase.open
    private var lanes: [NextHop: Lane] = [:]
    private var lastLane = 0
    /// The lane that was asked for last, which is likely to be asked for again.
    private var latest: Lane?
    private var latestTarget: TargetURI?
    /// Connections made before this generation are not used again.
    private var generation = 0
    private var sweep: SessionTimer?

    package nonisolated init(_ settings: PoolSettings) {
        self.settings = settings
    }

    /// The target URI of a request's URL, which is likely to begin like the last one's.
    package func target(of url: String) throws(TargetURI.Refusal) -> TargetURI {
        let target = try TargetURI(url, like: latestTarget)
        latestTarget = target
        return target
    }

    /// A connection that can be used at once, if there is one and no exchange has waited for it.
    ///
    /// - Parameter demand: Which connection will do.
    package func takeIdle(to hop: NextHop, for demand: ConnectionDemand) -> HTTPConnection? {
        let lane = lane(to: hop)
        if case .lasting = demand { observe(lane) }
        return lane.schedule.takeIdle(
            for: demand, { $0.idleState(at: clock.now, for: demand) }, close: { $0.close() })
    }

    /// Finds out whether the server has kept a connection open for as long as it may take to close it.
    private func observe(_ lane: Lane) {
        let now = clock.now
        lane.schedule.observe { $0.isOpen && $0.idleSince + Self.closingTime <= now }
    }

    /// Asks for a connection. The answer may come before this returns, when one is idle.
    ///
    /// - Parameters:
    ///   - priority: The higher ones are served first, equal ones in the order in which they came.
    ///   - demand: Which connection will do. Where it is a new one, because an idle one has just proved dead, the other idle
    ///     ones to the hop are not trusted either.
    ///   - timeLimit: How long the request waits for a connection once dialling has begun; `nil` for no limit.
    ///   - watcher: Watches a new connection being made.
    ///   - securer: Makes a new connection secure; needed where the hop is a secure server.
    package func lease(
        _ hop: NextHop, priority: Float, demand: ConnectionDemand, timeLimit: Duration?, watcher: (any DialWatcher)?,
        securer: (any ConnectionSecurer)?, answer: @escaping (Result<HTTPConnection, ConnectionFailure>) -> Void
    ) -> Waiter {
        let lane = lane(to: hop)
        let waiter = Waiter(
            lane: lane, pool: self, priority: priority, demand: demand, timeLimit: timeLimit,
            watcher: watcher, securer: securer, answer: answer)
        lane.schedule.append(waiter)
        if case .new = demand {
            lane.schedule.connectionWasLost()
            closeIdle(of: lane)
        }
        serve(lane)
        return waiter
    }

    /// Takes a connection back after its exchange.
    ///
    /// - Parameter mayStay: The message exchange leaves it usable (RFC 9112 §9.3).
    package func release(_ connection: HTTPConnection, mayStay: Bool) {
        let lane = connection.lane
        guard mayStay, connection.isOpen, connection.generation == generation else {
            connection.close()
            closed(lane)
            return
        }
        if connection.exchanges > 1 { lane.schedule.connectionWasKept() }
        connection.becomeIdle(at: clock.now, limit: min(connection.idleLimit ?? Self.idleLimit, Self.idleLimit))
        lane.schedule.addIdle(connection)
        serve(lane)
        startSweeping()
    }

    /// The connection's transport is used for something else from now on.
    func detach(_ connection: HTTPConnection) {
        closed(connection.lane)
    }

    /// A connection over a transport that is connected to a hop through a tunnel.
    package func adopt(_ transport: any LoopTransport, as hop: NextHop) -> HTTPConnection {
        let lane = lane(to: hop)
        lane.schedule.addOpen()
        return HTTPConnection(transport, lane: lane, pool: self, generation: generation)
    }

    /// An idle connection ended by itself. It stays among the idle ones until one is looked for: there may be thousands,
    /// and servers close them all at once.
    func idleConnectionClosed(_ connection: HTTPConnection) {
        closed(connection.lane)
    }

    /// Uses no connection again that exists now; those in use end with their exchange.
    package func retireConnections() {
        generation += 1
        for lane in orderedLanes { closeIdle(of: lane) }
    }

    /// Closes what is idle, and gives no exchange a connection any more: those that wait have to be cancelled.
    package func close() {
        phase = .closed
        retireConnections()
        for lane in orderedLanes { serve(lane) }
        sweep?.cancel()
        sweep = nil
    }

    // MARK: Lanes

    private func lane(to hop: NextHop) -> Lane {
        if let latest, latest.hop == hop { return latest }
        let lane = lanes[hop] ?? addLane(to: hop)
        latest = lane
        return lane
    }

    private func addLane(to hop: NextHop) -> Lane {
        lastLane += 1
        let limit = hop.limit(perHost: max(1, settings.connectionsPerHost))
        let lane = Lane(hop, number: lastLane, limit: limit)
        lanes[hop] = lane
        return lane
    }

    /// The lanes, oldest first: what is done to all of them is done in an order that does not differ from run to run.
    private var orderedLanes: [Lane] { lanes.values.sorted { $0.number < $1.number } }

    private func serve(_ lane: Lane) {
        if phase == .closed { lane.schedule.removeWaiters() }
        while true {
            switch lane.schedule.next({ $0.idleState(at: clock.now, for: $1) }, close: { $0.close() }) {
            case .use(let connection, let waiter): waiter.finish(.success(connection))
            case .dial(let waiter): dial(waiter)
            case .wait: return dropIfEmpty(lane)
            }
        }
    }

    private func dial(_ waiter: Waiter) {
        let lane = waiter.lane
        let generation = generation
        let purpose = DialPurpose(scheme: lane.hop.scheme, timeLimit: waiter.timeLimit)
        let dial = lane.hop.dialler(over: settings.dialler).dial(lane.hop.endpoint, for: purpose) {
            [weak self] result in
            guard let self else { return }
            let isWanted = waiter.endDial()
            switch result {
            case .success(let transport):
                if !lane.isTunnel, let origin = lane.hop.origin, origin.isSecure, let securer = waiter.securer {
                    return self.secure(transport, to: origin, with: securer, for: waiter, generation)
                }
                let connection = HTTPConnection(
                    transport, lane: lane, pool: self, generation: generation, dialTimes: waiter.dialTimes)
                waiter.finish(.success(connection))
            case .failure(let error):
                if isWanted, self.settings.isShortage(error), self.makesDo(in: lane) {
                    waiter.waitAgain()
                } else {
                    waiter.finish(.failure(.dial(error)))
                }
                self.closed(lane)
            }
        }
        waiter.setDial(dial)
    }

    private func secure(
        _ transport: any LoopTransport, to origin: Origin, with securer: any ConnectionSecurer, for waiter: Waiter,
        _ generation: Int
    ) {
        waiter.secure(transport, to: origin, with: securer) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let layer):
                let connection = HTTPConnection(
                    layer.transport, lane: waiter.lane, pool: self, generation: generation,
                    dialTimes: waiter.dialTimes, securityLayer: layer)
                waiter.finish(.success(connection))
            case .failure(let failure):
                waiter.finish(.failure(.security(failure)))
                self.closed(waiter.lane)
            }
        }
    }

    /// The process has no descriptor left for one more connection of the lane: those it has must do, or else one that
    /// is idle elsewhere has to go. False when there is neither.
    private func makesDo(in lane: Lane) -> Bool {
        if lane.schedule.limitToDescriptors() { return true }
        for other in orderedLanes {
            guard let connection = other.schedule.popIdle({ $0.isOpen ? .usable : .closed }, close: { _ in }) else {
                continue
            }
            connection.close()
            closed(other)
            return true
        }
        return false
    }

    /// One open connection of the lane is gone: an exchange that waits may have its place.
    fileprivate func closed(_ lane: Lane) {
        lane.schedule.removeOpen()
        serve(lane)
        dropIfEmpty(lane)
    }

    private func dropIfEmpty(_ lane: Lane) {
        guard lane.schedule.isEmpty, lanes[lane.hop] === lane else { return }
        lanes[lane.hop] = nil
        latest = nil
        // Those that ended by themselves would hold the lane, and it them.
        _ = lane.schedule.removeIdle()
    }

    // MARK: Idle connections

    private func closeIdle(of lane: Lane) {
        close(lane.schedule.removeIdle { $0.isOpen ? .stale : .closed }, of: lane)
    }

    private func close(_ connections: [HTTPConnection], of lane: Lane) {
        for connection in connections {
            connection.close()
            closed(lane)
        }
    }

    private func startSweeping() {
        guard sweep == nil else { return }
        sweep = clock.schedule(after: .seconds(5)) { [weak self] in
            guard let self else { return }
            self.sweep = nil
            self.closeExpired()
        }
    }

    private func closeExpired() {
        let now = clock.now
        var anyIdle = false
        for lane in orderedLanes {
            let expired = lane.schedule.removeIdle { connection in
                guard connection.isOpen else { return .closed }
                return connection.idleDeadline <= now ? .stale : .usable
            }
            anyIdle = anyIdle || lane.schedule.hasIdle
            close(expired, of: lane)
        }
        if anyIdle { startSweeping() }
    }
}
