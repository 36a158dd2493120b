import Dispatch
import Synchronization

/// A value that one thread waits for and another brings.
final class Handoff<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let arrival = DispatchSemaphore(value: 0)

    /// Brings the value.
    func bring(_ value: Value) {
        self.value.withLock { $0 = value }
        arrival.signal()
    }

    /// Blocks the thread until the value is there.
    func take() -> Value {
        while true {
            arrival.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }
}
