extension World {
    /// Kinds of bad luck that a simulation may have.
    public struct Chaos: OptionSet, Sendable, Hashable {
        /// A bit for each kind.
        public let rawValue: Int

        /// Kinds of bad luck.
        ///
        /// - Parameter rawValue: A bit for each kind.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Connections are reset between any two segments.
        public static let resets = Chaos(rawValue: 1)
        /// Nothing arrives on a connection for a while, up to two minutes.
        public static let stalls = Chaos(rawValue: 2)
        /// Connections are refused.
        public static let refusals = Chaos(rawValue: 4)
        /// Look-ups of names fail.
        public static let nameFailures = Chaos(rawValue: 8)
        /// The disk is full, or cannot be written.
        public static let diskErrors = Chaos(rawValue: 16)
        /// All kinds that networks have.
        public static let network: Chaos = [.resets, .stalls, .refusals, .nameFailures]
        /// All kinds.
        public static let all: Chaos = [.network, .diskErrors]

        static let names: [(Chaos, String)] = [
            (.resets, "resets"), (.stalls, "stalls"), (.refusals, "refusals"), (.nameFailures, "name failures"),
            (.diskErrors, "disk errors"),
        ]
    }
}

/// Decides which faults happen. A seed has some of the allowed kinds, each more or less often, and ends them after a
/// number of faults, so that a program that tries again succeeds.
///
/// Used on the thread of its simulation alone.
final class Faults: @unchecked Sendable {
    /// What has happened: numbers count the faults that are left out, too.
    private(set) var happened: [Int] = []

    private let log: Log
    private let leftOut: Set<Int>
    private var kinds: World.Chaos = []
    /// One in how many chances is taken, by kind; those that this seed has not are missing.
    private var chances: [Int: Int] = [:]
    private var remaining = 0
    private var number = 0
    private var random: SeededRandom

    init(_ seed: Seed, leavingOut leftOut: Set<Int>, _ log: Log) {
        self.leftOut = leftOut
        self.log = log
        random = SeededRandom(seed, stream: 4)
    }

    /// The kinds that may happen from now on.
    var allowed: World.Chaos {
        get { kinds }
        set {
            kinds = newValue
            chances = [:]
            for (kind, _) in World.Chaos.names {
                let drawn = [nil, 2, 8, 32, 128][random.index(below: 5)]
                if kinds.contains(kind) { chances[kind.rawValue] = drawn }
            }
            remaining = 1 + random.index(below: 12)
        }
    }

    /// Whether a fault happens now.
    ///
    /// - Parameter isEdge: Something has just begun or is about to end: faults are likelier.
    func strikes(_ kind: World.Chaos, isEdge: Bool = false, _ process: SimulatedProcess, _ words: String) -> Bool {
        guard remaining > 0, let chances = chances[kind.rawValue] else { return false }
        guard random.oneIn(isEdge ? max(2, chances / 4) : chances) else { return false }
        remaining -= 1
        number += 1
        guard !leftOut.contains(number) else { return false }
        happened.append(number)
        log.add(process, "fault \(number): \(words)")
        return true
    }

    /// A time for which something is stalled, in nanoseconds: any order of magnitude is as likely as another.
    func drawStall() -> Int64 {
        let magnitude = random.index(below: 18)
        return 1_000_000 * Int64(1 + random.index(below: 1 << magnitude)) * 120_000 / (1 << 17)
    }

    /// Whether one of two errors is the one that happens.
    func drawSide() -> Bool { random.oneIn(2) }
}
