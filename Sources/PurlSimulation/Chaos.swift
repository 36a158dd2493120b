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
        /// An operation of the disk fails because it is full, or because it cannot be written.
        public static let diskErrors = Chaos(rawValue: 16)
        /// A computer and a server do not reach each other for a while, on none of their connections.
        public static let partitions = Chaos(rawValue: 32)
        /// One side of a connection is gone, and the other does not learn of it: what it sends is lost.
        public static let halfOpen = Chaos(rawValue: 64)
        /// The network between a computer and a server is slow for a while.
        public static let slowLinks = Chaos(rawValue: 128)
        /// Look-ups of names take up to two minutes, or find that the server has moved to another address.
        public static let slowNames = Chaos(rawValue: 256)
        /// A server is restarted: its connections are closed, it refuses others for a while, and then has the next version of
        /// what ``Server/route(_:versions:)`` has published.
        public static let restarts = Chaos(rawValue: 512)
        /// The disk has no room for a while.
        public static let fullDisk = Chaos(rawValue: 1_024)
        /// Reading from the disk fails.
        public static let readErrors = Chaos(rawValue: 2_048)
        /// Operations of the disk take up to two minutes.
        public static let slowDisk = Chaos(rawValue: 4_096)
        /// Programs that ``Computer/run(_:surprises:_:)`` has begun are killed, in addition to its surprises.
        public static let kills = Chaos(rawValue: 8_192)
        /// Computers lose power while programs run that ``Computer/run(_:surprises:_:)`` has begun.
        public static let powerLoss = Chaos(rawValue: 16_384)

        /// All kinds that networks have.
        public static let network: Chaos = [
            .resets, .stalls, .refusals, .nameFailures, .partitions, .halfOpen, .slowLinks, .slowNames,
        ]
        /// All kinds that disks have, but for the loss of power.
        public static let disk: Chaos = [.diskErrors, .fullDisk, .readErrors, .slowDisk]
        /// All kinds but for those that end programs, and servers that restart.
        public static let all: Chaos = [.network, .disk]

        static let names: [(Chaos, String)] = [
            (.resets, "resets"), (.stalls, "stalls"), (.refusals, "refusals"), (.nameFailures, "name failures"),
            (.diskErrors, "disk errors"), (.partitions, "partitions"), (.halfOpen, "half-open connections"),
            (.slowLinks, "slow links"), (.slowNames, "slow names"), (.restarts, "restarts"), (.fullDisk, "a full disk"),
            (.readErrors, "read errors"), (.slowDisk, "a slow disk"), (.kills, "kills"), (.powerLoss, "power losses"),
        ]
    }
}

/// Decides which faults happen. A seed has some of the allowed kinds, each more or less often, and ends them after a
/// number of faults, so that a program that tries again succeeds.
///
/// Used on the thread of its simulation alone.
final class Faults: @unchecked Sendable {
    /// Where a fault happens.
    enum Cause {
        /// In a server.
        case server
        /// In the network, in a computer or on its disk.
        case world
    }

    /// What has happened: numbers count the faults that are left out, too.
    private(set) var happened: [Int] = []
    /// Whether every one of them was a server's, and none the network's or a computer's.
    private(set) var areServersAlone = true

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
        return happens(process, words, by: kind == .restarts ? .server : .world)
    }

    /// Counts a fault whose moment has come by another draw. False where it is left out.
    func happens(_ process: SimulatedProcess, _ words: String, by cause: Cause = .world) -> Bool {
        number += 1
        guard !leftOut.contains(number) else { return false }
        happened.append(number)
        if cause == .world { areServersAlone = false }
        log.add(process, "fault \(number): \(words)")
        return true
    }

    /// Something that is no fault, but not the server's either, has had a part in what happens: a network or a server that the
    /// program has changed.
    func noteOtherCause() {
        areServersAlone = false
    }

    /// How often a kind of fault that ends programs is to happen in one run of a program.
    func drawEnds(_ kind: World.Chaos) -> Int {
        chances[kind.rawValue].map { chances in chances <= 8 ? 1 + random.index(below: 3) : random.index(below: 2) }
            ?? 0
    }

    /// A time for which something is stalled, in nanoseconds: any order of magnitude is as likely as another.
    func drawStall() -> Int64 {
        let magnitude = random.index(below: 18)
        return 1_000_000 * Int64(1 + random.index(below: 1 << magnitude)) * 120_000 / (1 << 17)
    }

    /// Whether one of two errors is the one that happens.
    func drawSide() -> Bool { random.oneIn(2) }
}
