internal import PurlIO

/// Which connection an exchange can use.
package enum ConnectionDemand: Sendable {
    case any
    /// The request must not be sent twice, so that a connection which its server is just about to close will not do: a new
    /// one is dialled until the server has shown that it keeps connections open.
    case lasting
    /// No connection will do that was used before.
    case new
}

/// An exchange that waits for a connection, as a schedule sees it.
@NetworkActor
protocol ConnectionWaiter: AnyObject {
    /// It has neither been served nor given up.
    var isWaiting: Bool { get }
    var demand: ConnectionDemand { get }
    var priority: Float { get }
}

/// What an idle connection is good for.
enum IdleState {
    /// It can carry the next exchange.
    case usable
    /// It is open, but has been idle too long, or the server has sent something: it has to be closed.
    case stale
    /// It was closed while it was idle, and does not count as open any more.
    case closed
}

/// Which of the exchanges that wait for a connection to one hop gets which: the pool's rules, without sockets.
///
/// The highest priority is served first, and equal ones in the order in which they came. It gets the idle connection that
/// was used last, which is the likeliest to be still alive. Where none is idle a new one is dialled, as long as fewer are
/// open than the limit allows, and than the system had descriptors for. An exchange whose reused connection was dead needs a
/// new one: where the limit is reached, an idle one is closed in favour of it.
///
/// Some servers close a connection after each response without saying so. A request that arrives just then is lost, and the
/// reset that follows does not tell whether it was read. So one that must not be sent twice gets no used connection before
/// the server has kept one open: for a while, or for a second exchange.
@NetworkActor
struct ConnectionSchedule<Waiter: ConnectionWaiter, Connection> {
    enum Step {
        case use(Connection, Waiter)
        /// The new connection counts as open already.
        case dial(Waiter)
        /// Nothing can be done before a connection comes free, or an exchange comes.
        case wait
    }

    private let limit: Int
    /// How many connections are idle, in use or being dialled.
    private(set) var open = 0
    /// For how many there were descriptors when there was none left for another; `nil` when there have been enough.
    private var ceiling: Int?
    /// How many connections may be open now.
    private var currentLimit: Int { min(limit, ceiling ?? .max) }
    /// The most recently used last.
    private var idle: [Connection] = []
    private var waiting = PriorityQueue<Waiter>()
    private var persistence = Persistence.unknown

    /// What the server has shown of its connections.
    private enum Persistence {
        case unknown
        /// One has stayed open after a response.
        case keepsOpen
    }

    /// - Parameter limit: How many connections may be open.
    init(limit: Int) {
        self.limit = limit
    }

    /// No connection is open, and no exchange waits for one.
    var isEmpty: Bool { open == 0 && waiting.isEmpty }

    // MARK: Waiters

    /// Adds an exchange behind those of its priority that wait already. One that has changed its priority is added
    /// again, and its old place does not count.
    mutating func append(_ waiter: Waiter) {
        waiting.append(waiter, priority: waiter.priority)
    }

    /// Serves none of those that wait.
    mutating func removeWaiters() { waiting = PriorityQueue() }

    /// Serves the first exchange, if it can be served.
    ///
    /// - Parameters:
    ///   - state: What an idle connection is good for.
    ///   - close: Closes a connection that is stale.
    mutating func next(
        _ state: (Connection, ConnectionDemand) -> IdleState, close: (Connection) -> Void
    ) -> Step {
        while let waiter = waiting.first {
            // Given up, or waiting in another place now.
            guard waiter.isWaiting, waiter.priority == waiting.firstPriority else {
                waiting.removeFirst()
                continue
            }
            let isFull = open >= currentLimit
            // The only idle one has to do, so that a server that has few connections can show that it keeps them.
            let isAllThereIs = isFull && waiter.demand == .lasting && idle.count == 1
            if mayUseIdle(for: waiter.demand) || isAllThereIs,
                let connection = popIdle({ state($0, waiter.demand) }, close: close)
            {
                waiting.removeFirst()
                return .use(connection, waiter)
            }
            if isFull, waiter.demand != .any, let connection = popIdle({ state($0, .new) }, close: close) {
                close(connection)
                open -= 1
            }
            guard open < currentLimit else { return .wait }
            waiting.removeFirst()
            open += 1
            return .dial(waiter)
        }
        ceiling = nil
        return .wait
    }

    // MARK: Connections

    /// An idle connection for an exchange that has just come; `nil` when there is none, or others have waited longer.
    mutating func takeIdle(
        for demand: ConnectionDemand, _ state: (Connection) -> IdleState, close: (Connection) -> Void
    ) -> Connection? {
        waiting.isEmpty && mayUseIdle(for: demand) ? popIdle(state, close: close) : nil
    }

    private func mayUseIdle(for demand: ConnectionDemand) -> Bool {
        switch (demand, persistence) {
        case (.any, _), (.lasting, .keepsOpen): true
        case (.lasting, .unknown), (.new, _): false
        }
    }

    /// Finds out whether the server has kept an idle connection open.
    mutating func observe(_ wasKept: (Connection) -> Bool) {
        if case .unknown = persistence, idle.contains(where: wasKept) { persistence = .keepsOpen }
    }

    /// A connection has carried a second exchange.
    mutating func connectionWasKept() { persistence = .keepsOpen }

    /// A reused connection has proved dead.
    mutating func connectionWasLost() { persistence = .unknown }

    /// A connection was made in another way than by dialling for an exchange.
    mutating func addOpen() { open += 1 }

    /// A connection has come free.
    mutating func addIdle(_ connection: Connection) { idle.append(connection) }

    /// An open connection is closed, or was given away, or could not be made.
    mutating func removeOpen() { open -= 1 }

    /// Removes idle connections, and returns those of them that are still open.
    mutating func removeIdle(_ state: (Connection) -> IdleState = { _ in .stale }) -> [Connection] {
        var removed: [Connection] = []
        idle.removeAll { connection in
            switch state(connection) {
            case .usable: return false
            case .closed: return true
            case .stale:
                removed.append(connection)
                return true
            }
        }
        return removed
    }

    var hasIdle: Bool { !idle.isEmpty }

    /// There was no descriptor for the connection that was dialled last: the other open ones have to do, until no exchange
    /// waits any more. False when there are no others.
    mutating func limitToDescriptors() -> Bool {
        let others = open - 1
        guard others > 0 else { return false }
        ceiling = others
        return true
    }

    /// Removes the idle connection that was used last; `nil` when none is usable.
    mutating func popIdle(_ state: (Connection) -> IdleState, close: (Connection) -> Void) -> Connection? {
        while let connection = idle.popLast() {
            switch state(connection) {
            case .usable: return connection
            case .closed: continue
            case .stale:
                close(connection)
                open -= 1
            }
        }
        return nil
    }
}
