import Foundation

/// The number that decides everything that happens by chance in a simulation.
public struct Seed: Sendable, Hashable, Codable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The number.
    public let value: UInt64

    /// A seed.
    ///
    /// - Parameter value: Any number; each makes another world.
    public init(_ value: UInt64) {
        self.value = value
    }

    /// A seed that is written as a number.
    ///
    /// - Parameter value: The number.
    public init(integerLiteral value: UInt64) {
        self.init(value)
    }

    /// The number in digits, as the environment variable `SEED` takes it.
    public var description: String { "\(value)" }
}

/// The seeds that a test runs with.
///
/// ```swift
/// @Test(arguments: Seeds.some(20))
/// func aFilmArrives(seed: Seed) throws {
///     try Simulation(seed).run { world in
///         let url = world.server("mirror.example").route("/film", .generated(size: 1000))
///         _ = try await URLSession.shared.data(from: url)
///     }
/// }
/// ```
///
/// With `SEED=17` in the environment every test runs with that seed alone, which replays a failure; with `SEEDS=1000` with the
/// first thousand.
public enum Seeds {
    /// The seeds from 1 to `count`, or the one that the environment names.
    ///
    /// - Parameter count: How many seeds there are to be.
    public static func some(_ count: Int) -> [Seed] {
        _ = complaint
        return some(count, environment: ProcessInfo.processInfo.environment)
    }

    /// Says once that what the environment names is not a number.
    private static let complaint: Void = {
        let environment = ProcessInfo.processInfo.environment
        for name in ["SEED", "SEEDS"] {
            guard let text = environment[name], UInt64(text) == nil else { continue }
            let line = "\(name)=\(text) is not a number: tests run with their own seeds.\n"
            FileHandle.standardError.write(Data(line.utf8))
        }
    }()

    static func some(_ count: Int, environment: [String: String]) -> [Seed] {
        if let one = environment["SEED"].flatMap({ UInt64($0) }) { return [Seed(one)] }
        let count = environment["SEEDS"].flatMap { Int($0) } ?? count
        return (0..<UInt64(max(0, count))).map { Seed($0 + 1) }
    }
}

/// Random numbers that follow from a seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// - Parameter stream: Tells several generators of one seed apart.
    init(_ seed: Seed, stream: UInt64) {
        state = seed.value &* 0x9E37_79B9_7F4A_7C15 ^ (stream &+ 1) &* 0xD1B5_4A32_D192_ED03
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A number from 0 to `count - 1`.
    mutating func index(below count: Int) -> Int {
        Int(truncatingIfNeeded: next() % UInt64(count))
    }

    /// Whether one of so many chances has come.
    mutating func oneIn(_ chances: Int) -> Bool { index(below: chances) == 0 }

    /// A duration from a range.
    mutating func duration(in range: ClosedRange<Duration>) -> Int64 {
        // What never happens is late enough, and its multiples do not overflow.
        let low = max(0, min(range.lowerBound.nanoseconds, Scheduler.never))
        let high = max(0, min(range.upperBound.nanoseconds, Scheduler.never))
        return high > low ? low + Int64(next() % UInt64(high - low + 1)) : low
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to what a clock can show.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}
