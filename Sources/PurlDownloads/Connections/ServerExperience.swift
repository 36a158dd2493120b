import Synchronization

extension ParallelTransfer {
    /// What is known of a server, for all attempts at one download.
    package final class Experience: Sendable {
        private struct State {
            var refusesRanges = false
            /// Responses, one after another, that were no ranges and say nothing about ranges.
            var refusals = 0
            /// Whether the last request for a range has failed.
            var isTroubled = false
            /// How often a connection has met another version than that of the file.
            var versions = 0
            /// How often a leader had to begin without a byte more than the last one had.
            var idleStarts = 0
        }

        /// After so many refusals without a range between them, no ranges are requested.
        static let mostRefusals = 3
        /// A version may change once while it is fetched; a server that names each response differently has none.
        static let mostVersions = 2
        private static let mostIdleStarts = 3

        private let state = Mutex(State())

        package init() {}

        /// Whether no more ranges are requested.
        package var refusesRanges: Bool { state.withLock { $0.refusesRanges } }

        /// Whether a leader is to request everything that follows, as if it were the only connection: ranges may fail again.
        var distrustsRanges: Bool { state.withLock { $0.refusesRanges || $0.isTroubled } }

        /// A connection that requested a range has failed, and brought nothing.
        func addFailure() { state.withLock { $0.isTroubled = true } }

        /// A response to a request for a range is not the range, and proves that the server has none.
        func addUnproven() { state.withLock { $0.refusesRanges = true } }

        /// A response to a request for a range is an error page, or leads elsewhere.
        func addRefusal() {
            state.withLock { state in
                state.refusals += 1
                state.isTroubled = true
                state.refusesRanges = state.refusesRanges || state.refusals >= Self.mostRefusals
            }
        }

        /// A response was of another version.
        func addOtherVersion() {
            state.withLock { state in
                state.versions += 1
                state.refusesRanges = state.refusesRanges || state.versions >= Self.mostVersions
            }
        }

        /// A range has arrived.
        func addRange() {
            state.withLock { state in
                state.refusals = 0
                state.isTroubled = false
            }
        }

        /// Whether another leader may begin after one that has ended.
        ///
        /// - Parameter hasProgress: Whether bytes have arrived.
        package func allowsLeader(hasProgress: Bool) -> Bool {
            state.withLock { state in
                state.idleStarts = hasProgress ? 0 : state.idleStarts + 1
                return state.idleStarts <= Self.mostIdleStarts
            }
        }
    }
}

/// When connections that were given up are opened again: a while after the server's last refusal, one after another, and after
/// twice that while when it refuses again.
struct ConnectionRecovery: Sendable, Equatable {
    static let firstDelay = Duration.seconds(4)
    static let longestDelay = Duration.seconds(64)

    private var delay = firstDelay
    /// How long ago the last change was; `nil` while no connection is given up.
    private var waited: Duration?
    private var isRecovering = false

    /// The server has refused a connection.
    ///
    /// - Parameter asked: How long it wants to be left alone.
    mutating func refused(asking asked: Duration = .zero) {
        if isRecovering { delay = min(delay * 2, Self.longestDelay) }
        isRecovering = false
        waited = .zero - asked
    }

    /// Whether one connection more is opened.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the last call.
    ///   - isComplete: Whether there are as many as are wanted.
    mutating func adds(after elapsed: Duration, isComplete: Bool) -> Bool {
        guard !isComplete, let waited else { return false }
        self.waited = waited + elapsed
        guard waited + elapsed >= delay else { return false }
        self.waited = .zero
        isRecovering = true
        return true
    }
}

/// How many connections there are when their number is adaptive: one more as long as the last one has made the whole at least a
/// tenth faster. One that has not is given up when it has brought what it reads.
struct ConnectionGrowth: Sendable, Equatable {
    /// A connection has reached its rate after so many measurements.
    static let measurements = 4

    let maximum: Int
    private var connections = 1
    private var rates: [Double] = []
    /// The rate with one connection less.
    private var earlier: Double?
    private var isOver = false

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// The server has refused a connection.
    mutating func stop() { isOver = true }

    /// The number that follows a measurement; `nil` when it stays.
    ///
    /// - Parameters:
    ///   - rate: The bytes a second of all connections together.
    ///   - open: How many connections are open.
    mutating func connections(at rate: Double, open: Int) -> Int? {
        guard !isOver, open >= connections else { return nil }
        rates.append(rate)
        guard rates.count >= Self.measurements else { return nil }
        // The first measurement still has the time of the request in it.
        let mean = rates.dropFirst().reduce(0, +) / Double(rates.count - 1)
        rates = []
        if let earlier, mean < earlier * 1.1 || mean == 0 {
            isOver = true
            connections -= 1
            return connections
        }
        guard connections < maximum else {
            isOver = true
            return nil
        }
        earlier = mean
        connections += 1
        return connections
    }
}
