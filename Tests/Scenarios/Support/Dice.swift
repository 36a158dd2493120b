import PurlSimulation
import Synchronization

/// What a scenario leaves to chance. It follows from the seed and the scenario alone: not from what Purl does.
final class Dice: Sendable {
    private let state: Mutex<UInt64>

    init(_ seed: Seed, _ scenario: String) {
        state = Mutex(
            scenario.utf8.reduce(seed.value &* 0x9E37_79B9_7F4A_7C15) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }

    private func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    /// A number from 0 to `count - 1`.
    func index(below count: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(count)) }

    func number(_ range: ClosedRange<Int>) -> Int { range.lowerBound + index(below: range.count) }

    /// Whether one of so many chances has come.
    func oneIn(_ chances: Int) -> Bool { index(below: chances) == 0 }

    func pick<Value>(_ values: [Value]) -> Value { values[index(below: values.count)] }

    /// From 0.1 ms to 800 ms, any order of magnitude as likely as another.
    func moment() -> Duration { .microseconds(100 * (1 + index(below: 1 << index(below: 14)))) }
}

/// What a scenario remembers while programs are killed and begun again.
final class Notes<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: sending Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    func change<Result: Sendable>(_ body: (inout sending Value) -> sending Result) -> Result {
        state.withLock { body(&$0) }
    }
}
