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
        fileprivate let origin: Origin
        fileprivate private(set) var priority: Float
        fileprivate var answer: ((Result<HTTPConnection, DialError>) -> Void)?
        fileprivate var dial: Dial? {
            didSet {
                if dial != nil { dialStart = EventLoop.shared.now }
                dialTimes = oldValue?.times
            }
        }
        fileprivate weak var pool: ConnectionPool?

        fileprivate init(
            origin: Origin, priority: Float, answer: @escaping (Result<HTTPConnection, DialError>) -> Void
        ) {
            self.origin = origin
            self.priority = priority
            self.answer = answer
        }

        /// Waits from now on among those of another priority, behind those who have waited there.
        func move(to priority: Float) {
            guard priority != self.priority, answer != nil, dial == nil else { return }
            self.priority = priority
            pool?.lanes[origin]?.waiting.append(self, priority: priority)
        }

        /// Gives up the place in the queue, or the dialling that had begun.
        func cancel() {
            guard answer != nil else { return }
            answer = nil
            guard let dial else { return }
            dial.cancel()
            self.dial = nil
            pool?.closed(origin)
        }
    }

    fileprivate struct Lane {
        /// Connections that are idle, in use or being dialled.
        var open = 0
        /// The most recently used last: it is the likeliest to be still alive.
        var idle: [HTTPConnection] = []
        var waiting = PriorityQueue<Ticket>()
    }

    /// How long an idle connection is kept, unless the server's `Keep-Alive` field says less.
    private static let idleLimit: Duration = .seconds(60)

    private let connectionsPerHost: Int
    fileprivate var lanes: [Origin: Lane] = [:]
    /// Connections made before this generation are not used again.
    private var generation = 0
    private var sweep: LoopTimer?

    nonisolated init(connectionsPerHost: Int) {
        self.connectionsPerHost = max(1, connectionsPerHost)
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
        let ticket = Ticket(origin: origin, priority: priority, answer: answer)
        ticket.pool = self
        lanes[origin, default: Lane()].waiting.append(ticket, priority: priority)
        if fresh { closeIdle(of: origin) }
        serve(origin)
        return ticket
    }

    /// Takes a connection back after its exchange.
    ///
    /// - Parameter mayStay: The message exchange leaves it usable (RFC 9112 §9.3).
    func release(_ connection: HTTPConnection, mayStay: Bool) {
        let origin = connection.origin
        guard mayStay, connection.isOpen, connection.generation == generation else {
            connection.close()
            closed(origin)
            return
        }
        lanes[origin, default: Lane()].idle.append(connection)
        connection.idleDeadline = EventLoop.shared.now + min(connection.idleLimit ?? Self.idleLimit, Self.idleLimit)
        serve(origin)
        startSweeping()
    }

    /// An idle connection ended by itself.
    func idleConnectionClosed(_ connection: HTTPConnection) {
        lanes[connection.origin]?.idle.removeAll { $0 === connection }
        closed(connection.origin)
    }

    /// Uses no connection again that exists now; those in use end with their exchange.
    func retireConnections() {
        generation += 1
        for origin in lanes.keys { closeIdle(of: origin) }
    }

    private func closeIdle(of origin: Origin) {
        let idle = lanes[origin]?.idle ?? []
        lanes[origin]?.idle = []
        for connection in idle {
            connection.close()
            closed(origin)
        }
    }

    /// Closes what is idle, for good.
    func close() {
        retireConnections()
        sweep?.cancel()
        sweep = nil
    }

    // MARK: Lanes

    private func serve(_ origin: Origin) {
        while var lane = lanes[origin], let ticket = lane.waiting.first {
            // Given up, or waiting elsewhere in the line now.
            guard let answer = ticket.answer, ticket.priority == lane.waiting.firstPriority else {
                lane.waiting.removeFirst()
                lanes[origin] = lane
                continue
            }
            if let connection = takeIdle(from: &lane) {
                lane.waiting.removeFirst()
                lanes[origin] = lane
                ticket.answer = nil
                answer(.success(connection))
            } else if lane.open < connectionsPerHost {
                lane.waiting.removeFirst()
                lane.open += 1
                lanes[origin] = lane
                dial(ticket)
            } else {
                lanes[origin] = lane
                return
            }
        }
        dropIfEmpty(origin)
    }

    /// The idle connection used last, if it can still be trusted; those that cannot are closed on the way.
    private func takeIdle(from lane: inout Lane) -> HTTPConnection? {
        let now = EventLoop.shared.now
        while let connection = lane.idle.popLast() {
            if connection.isQuiet, connection.idleDeadline > now { return connection }
            connection.close()
            lane.open -= 1
        }
        return nil
    }

    private func dial(_ ticket: Ticket) {
        let origin = ticket.origin
        let generation = generation
        ticket.dial = Dial(to: origin.endpoint) { [weak self] result in
            guard let self else { return }
            let answer = ticket.answer
            ticket.answer = nil
            // Keeps its times.
            ticket.dial = nil
            switch result {
            case .success(let socket):
                let connection = HTTPConnection(socket, origin: origin, pool: self, generation: generation)
                connection.dialTimes = ticket.dialTimes
                answer?(.success(connection))
            case .failure(let error):
                answer?(.failure(error))
                self.closed(origin)
            }
        }
    }

    /// One open connection of the lane is gone: somebody else may have its place.
    private func closed(_ origin: Origin) {
        lanes[origin]?.open -= 1
        serve(origin)
        dropIfEmpty(origin)
    }

    private func dropIfEmpty(_ origin: Origin) {
        if let lane = lanes[origin], lane.open == 0, lane.waiting.isEmpty { lanes[origin] = nil }
    }

    // MARK: Idle connections

    private func startSweeping() {
        guard sweep == nil else { return }
        sweep = EventLoop.shared.schedule(after: .seconds(5)) { [weak self] in
            guard let self else { return }
            self.sweep = nil
            self.closeExpired()
        }
    }

    private func closeExpired() {
        let now = EventLoop.shared.now
        var anyIdle = false
        for (origin, lane) in lanes {
            let expired = lane.idle.filter { $0.idleDeadline <= now }
            lanes[origin]?.idle.removeAll { $0.idleDeadline <= now }
            anyIdle = anyIdle || expired.count < lane.idle.count
            for connection in expired {
                connection.close()
                closed(origin)
            }
        }
        if anyIdle { startSweeping() }
    }
}
