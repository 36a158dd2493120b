import Foundation
import Purl
import Synchronization

/// Notes, from inside the calls a session makes, on which queue each ran and whether two ran at the same time.
final class CallLog: Sendable {
    private struct State {
        var inside = 0
        var mostInside = 0
        var queues: [ObjectIdentifier?] = []
    }

    private let state = Mutex(State())

    /// To be called inside each call: stays there for a moment, so that a second call would be met.
    func visit() {
        let queue = OperationQueue.current.map { ObjectIdentifier($0) }
        state.withLock { state in
            state.inside += 1
            state.mostInside = max(state.mostInside, state.inside)
            state.queues.append(queue)
        }
        for _ in 0..<50 { sched_yield() }
        state.withLock { $0.inside -= 1 }
    }

    /// How many calls were made.
    var count: Int { state.withLock { $0.queues.count } }
    /// How many calls ran at the same time at most.
    var mostAtOnce: Int { state.withLock { $0.mostInside } }

    /// Whether all calls ran on `queue`.
    func allRan(on queue: OperationQueue) -> Bool {
        state.withLock { state in state.queues.allSatisfy { $0 == ObjectIdentifier(queue) } }
    }
}
