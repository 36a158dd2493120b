import Foundation
internal import PurlIO

/// A session's connections: kept alive, reused, and never more to one origin than the configuration allows.
///
/// Each origin has a lane: its idle connections, the exchanges that wait for one, and a count of what is open. A
/// connection that comes free goes to the exchange that has waited longest; a new one is dialled only when none is
/// idle and the lane has room.
@NetworkActor
final class ConnectionPool {
    /// A wait for a connection. Whoever waits gets exactly one answer, unless it cancels first.
    @NetworkActor
    final class Ticket {
        /// When dialling began for it; `nil` while it waits for a place.
        private(set) var dialStart: MonotonicTime?
        /// How far dialling has come; at its end.
        private(set) var dialTimes: DialTimes?
        fileprivate let lane: Lane
        fileprivate private(set) var priority: Float
        fileprivate var answer: ((Result<HTTPConnection, DialError>) -> Void)?
        fileprivate var dial: Dial? {
            didSet {
                if dial != nil { dialStart = pool?.clock.now }
                dialTimes = oldValue?.times
            }
        }
        fileprivate weak var pool: ConnectionPool?

        fileprivate init(
            lane: Lane, priority: Float, answer: @escaping (Result<HTTPConnection, DialError>) -> Void
        ) {
            self.lane = lane
            self.priority = priority
            self.answer = answer
        }

        /// No descriptor was left for it: it waits for a place again.
        fileprivate func wait(for answer: @escaping (Result<HTTPConnection, DialError>) -> Void) {
            self.answer = answer
            dialStart = nil
            lane.waiting.append(self, priority: priority)
        }

        /// Waits from now on among those of another priority, behind those who have waited there.
        func move(to priority: Float) {
            guard priority != self.priority, answer != nil, dial == nil else { return }
            self.priority = priority
            lane.waiting.append(self, priority: priority)
        }

        /// Gives up the place in the queue, or the dialling that had begun.
        func cancel() {
            guard answer != nil else { return }
            answer = nil
            guard let dial else { return }
            dial.cancel()
            self.dial = nil
            pool?.closed(lane)
        }
    }

    /// What one origin has. Connections and tickets know theirs, so that a request looks it up once.
    @NetworkActor
    final class Lane {
        let origin: Origin
        /// Connections that are idle, in use or being dialled.
        fileprivate var open = 0
        /// For how many there were descriptors when there was none left for another.
        fileprivate var ceiling = Int.max
        /// The most recently used last: it is the likeliest to be still alive.
        fileprivate var idle: [HTTPConnection] = []
        fileprivate var waiting = PriorityQueue<Ticket>()

        init(_ origin: Origin) {
            self.origin = origin
        }
    }

    /// How long an idle connection is kept, unless the server's `Keep-Alive` field says less.
    private static let idleLimit: Duration = .seconds(60)

    let clock: SessionClock
    /// What all connections together may receive in a second, and send.
    let receiveLimit: RateLimit?
    let sendLimit: RateLimit?

    private let connectionsPerHost: Int
    private let dialler: any Dialler
    private var lanes: [Origin: Lane] = [:]
    /// The lane that was asked for last, which is likely to be asked for again.
    private var latest: Lane?
    /// What the last request's URL meant; the next one's is likely to begin like it.
    var latestTarget: RequestTarget?
    /// Connections made before this generation are not used again.
    private var generation = 0
    private var sweep: SessionTimer?

    nonisolated init(_ settings: URLSessionConfiguration.Values) {
        connectionsPerHost = max(1, settings.httpMaximumConnectionsPerHost)
        clock = settings.clock
        let rateClock = settings.rateClock ?? settings.clock
        receiveLimit = settings.maximumBytesReceivedPerSecond.map { RateLimit(rate: $0, clock: rateClock) }
        sendLimit = settings.maximumBytesSentPerSecond.map { RateLimit(rate: $0, clock: rateClock) }
        dialler = settings.dialler ?? NetworkDialler(resolver: settings.resolver)
    }

    /// A connection that can be used at once, if there is one and nobody has waited for it.
    func takeIdle(of origin: Origin) -> HTTPConnection? {
        let lane = lane(of: origin)
        return lane.waiting.isEmpty ? takeIdle(from: lane) : nil
    }

    /// Asks for a connection. The answer may come before this returns, when one is idle.
    ///
    /// - Parameters:
    ///   - priority: The higher ones are served first, equal ones in the order in which they came.
    ///   - fresh: One idle connection has just proved dead, so the others of the origin are not trusted.
    func lease(
        _ origin: Origin, priority: Float = URLSessionTask.defaultPriority, fresh: Bool = false,
        answer: @escaping (Result<HTTPConnection, DialError>) -> Void
    ) -> Ticket {
        let lane = lane(of: origin)
        let ticket = Ticket(lane: lane, priority: priority, answer: answer)
        ticket.pool = self
        lane.waiting.append(ticket, priority: priority)
        if fresh { closeIdle(of: lane) }
        serve(lane)
        return ticket
    }

    /// Takes a connection back after its exchange.
    ///
    /// - Parameter mayStay: The message exchange leaves it usable (RFC 9112 §9.3).
    func release(_ connection: HTTPConnection, mayStay: Bool) {
        let lane = connection.lane
        guard mayStay, connection.isOpen, connection.generation == generation else {
            connection.close()
            closed(lane)
            return
        }
        lane.idle.append(connection)
        connection.idleTurn = EventLoop.shared.turns
        connection.idleDeadline = clock.now + min(connection.idleLimit ?? Self.idleLimit, Self.idleLimit)
        serve(lane)
        startSweeping()
    }

    /// The connection's socket belongs to somebody else from now on.
    func detach(_ connection: HTTPConnection) {
        closed(connection.lane)
    }

    /// A connection over a socket that is connected to an origin by way of somebody else.
    func adopt(_ socket: StreamSocket, as origin: Origin) -> HTTPConnection {
        let lane = lane(of: origin)
        lane.open += 1
        return HTTPConnection(socket, lane: lane, pool: self, generation: generation)
    }

    /// An idle connection ended by itself. It stays among the idle ones until somebody looks for one: there may be
    /// thousands, and servers close them all at once.
    func idleConnectionClosed(_ connection: HTTPConnection) {
        closed(connection.lane)
    }

    /// Uses no connection again that exists now; those in use end with their exchange.
    func retireConnections() {
        generation += 1
        for lane in lanes.values { closeIdle(of: lane) }
    }

    private func closeIdle(of lane: Lane) {
        let idle = lane.idle
        lane.idle = []
        for connection in idle where connection.isOpen {
            connection.close()
            closed(lane)
        }
    }

    /// Closes what is idle, for good.
    func close() {
        retireConnections()
        sweep?.cancel()
        sweep = nil
    }

    // MARK: Lanes

    private func lane(of origin: Origin) -> Lane {
        if let latest, latest.origin == origin { return latest }
        let lane = lanes[origin] ?? Lane(origin)
        lanes[origin] = lane
        latest = lane
        return lane
    }

    private func serve(_ lane: Lane) {
        while let ticket = lane.waiting.first {
            // Given up, or waiting elsewhere in the line now.
            guard let answer = ticket.answer, ticket.priority == lane.waiting.firstPriority else {
                lane.waiting.removeFirst()
                continue
            }
            if let connection = takeIdle(from: lane) {
                lane.waiting.removeFirst()
                ticket.answer = nil
                answer(.success(connection))
            } else if lane.open < min(limit(to: lane.origin), lane.ceiling) {
                lane.waiting.removeFirst()
                lane.open += 1
                dial(ticket)
            } else {
                return
            }
        }
        lane.ceiling = .max
        dropIfEmpty(lane)
    }

    /// RFC 6455 §4.1 item 2: one WebSocket handshake at a time. Once it is over the connection is no longer in the pool,
    /// nor is that of a stream, which as many can be opened of as are asked for.
    private func limit(to origin: Origin) -> Int {
        if origin.isStream { return .max }
        return origin.isWebSocket ? 1 : connectionsPerHost
    }

    /// The idle connection used last, if it can still be trusted; those that cannot are closed on the way.
    private func takeIdle(from lane: Lane) -> HTTPConnection? {
        let now = clock.now
        while let connection = lane.idle.popLast() {
            guard connection.isOpen else { continue }
            if connection.idleDeadline > now, connection.isQuiet { return connection }
            connection.close()
            lane.open -= 1
        }
        return nil
    }

    private func dial(_ ticket: Ticket) {
        let lane = ticket.lane
        let generation = generation
        ticket.dial = dialler.dial(lane.origin.endpoint) { [weak self] result in
            guard let self else { return }
            let answer = ticket.answer
            ticket.answer = nil
            // Keeps its times.
            ticket.dial = nil
            switch result {
            case .success(let socket):
                let connection = HTTPConnection(socket, lane: lane, pool: self, generation: generation)
                connection.dialTimes = ticket.dialTimes
                answer?(.success(connection))
            case .failure(let error):
                guard let answer, error.isShortage, self.makesDo(in: lane) else {
                    answer?(.failure(error))
                    return self.closed(lane)
                }
                ticket.wait(for: answer)
                self.closed(lane)
            }
        }
    }

    /// The process has no descriptor left for one more connection of the lane: those it has must do, or else one that
    /// is idle elsewhere has to go. False when there is neither.
    private func makesDo(in lane: Lane) -> Bool {
        let others = lane.open - 1
        if others > 0 {
            lane.ceiling = others
            return true
        }
        for other in lanes.values {
            other.idle.removeAll { !$0.isOpen }
            guard let connection = other.idle.popLast() else { continue }
            connection.close()
            closed(other)
            return true
        }
        return false
    }

    /// One open connection of the lane is gone: somebody else may have its place.
    fileprivate func closed(_ lane: Lane) {
        lane.open -= 1
        serve(lane)
        dropIfEmpty(lane)
    }

    private func dropIfEmpty(_ lane: Lane) {
        guard lane.open == 0, lane.waiting.isEmpty, lanes[lane.origin] === lane else { return }
        lanes[lane.origin] = nil
        latest = nil
        // Those that ended by themselves would hold the lane, and it them.
        lane.idle = []
    }

    // MARK: Idle connections

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
        for lane in lanes.values {
            let expired = lane.idle.filter { $0.isOpen && $0.idleDeadline <= now }
            lane.idle.removeAll { !$0.isOpen || $0.idleDeadline <= now }
            anyIdle = anyIdle || !lane.idle.isEmpty
            for connection in expired {
                connection.close()
                closed(lane)
            }
        }
        if anyIdle { startSweeping() }
    }
}

extension DialError {
    /// The process, or the system, has as many descriptors open as it may.
    fileprivate var isShortage: Bool {
        switch self {
        case .resolve: false
        case .connect(let failures): failures.contains { [EMFILE, ENFILE].contains($0.error.code) }
        }
    }
}
