import Foundation
import Purl
import Synchronization

/// A log, kept inside the calls of a session: the queue of each call, and whether two ran at the same time.
final class CallLog: Sendable {
    private struct State {
        var inside = 0
        var mostInside = 0
        var queues: [ObjectIdentifier?] = []
    }

    private let state = Mutex(State())

    /// Called inside each call: stays for a moment, so that an overlapping call is noticed.
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

    /// The number of calls.
    var count: Int { state.withLock { $0.queues.count } }
    /// The largest number of calls at the same time.
    var mostAtOnce: Int { state.withLock { $0.mostInside } }

    /// Whether all calls ran on `queue`.
    func allRan(on queue: OperationQueue) -> Bool {
        state.withLock { state in state.queues.allSatisfy { $0 == ObjectIdentifier(queue) } }
    }
}

/// The delegate queue of a session.
enum CallQueue: CaseIterable, Sendable {
    case main
    case serial
    case concurrent
    /// None is given, so the session makes one.
    case own

    /// The queue to pass to a session.
    func make() -> OperationQueue? {
        switch self {
        case .main:
            return .main
        case .own:
            return nil
        case .serial, .concurrent:
            let queue = OperationQueue()
            queue.name = "\(self)"
            queue.maxConcurrentOperationCount = self == .serial ? 1 : 8
            return queue
        }
    }
}
