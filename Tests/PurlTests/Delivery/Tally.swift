import Synchronization

/// Counts, from any thread.
final class Tally: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    /// Returns the count with this one.
    @discardableResult
    func add() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
