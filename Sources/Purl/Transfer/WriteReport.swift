import Synchronization

/// Bytes written or sent that the delegate has not been told of. Calls that would pile up behind a busy queue become one.
final class WriteReport: Sendable {
    private struct State {
        var unreported: Int64 = 0
        var total: Int64 = 0
        var isScheduled = false
    }

    private let state = Mutex(State())

    /// The file holds `offset` bytes already.
    func start(at offset: Int64) {
        state.withLock { $0.total = offset }
    }

    /// Adds to what is to be told. True when a call has to be put into the queue.
    func add(_ bytes: Int64) -> Bool {
        state.withLock { state in
            state.unreported += bytes
            state.total += bytes
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// What the call in the queue has to tell.
    func take() -> (bytes: Int64, total: Int64) {
        state.withLock { state in
            defer {
                state.unreported = 0
                state.isScheduled = false
            }
            return (state.unreported, state.total)
        }
    }
}
