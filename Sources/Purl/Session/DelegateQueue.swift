import Foundation
internal import PurlIO
import Synchronization

/// Runs a session's calls to its delegate and handlers, in order, one at a time, on the program's `OperationQueue`.
///
/// The program's queue may be concurrent, be suspended or cancel its operations; none of that may reorder or lose a
/// call. So the calls wait in a list of Purl's own, and at most one operation at a time works through it.
final class DelegateQueue: Sendable {
    typealias Call = @Sendable () -> Void

    let operations: OperationQueue
    private let state = Mutex(State())

    private struct State {
        var waiting: [Call] = []
        var isDraining = false
    }

    /// - Parameter operations: Where calls run; `nil` makes a serial queue of the session's own.
    init(_ operations: OperationQueue?) {
        self.operations = operations ?? SerialQueue()
    }

    /// Adds a call after all earlier ones. From any thread.
    func enqueue(_ call: @escaping Call) {
        let start = state.withLock { state in
            state.waiting.append(call)
            defer { state.isDraining = true }
            return !state.isDraining
        }
        guard start else { return }
        // One operation, which wakes its thread once, for all the calls of a turn.
        NetworkActor.afterTurn { self.operations.addOperation(Drain(self)) }
    }

    /// How often an operation looks for more calls before other operations of the program's queue have their turn.
    private static let rounds = 16

    /// Runs the calls that wait, and those added meanwhile; after some rounds the rest gets an operation of its own.
    private func drain() {
        var batch: [Call] = []
        for _ in 0..<Self.rounds {
            batch.removeAll(keepingCapacity: true)
            let isDone = state.withLock { state in
                swap(&state.waiting, &batch)
                if batch.isEmpty { state.isDraining = false }
                return batch.isEmpty
            }
            if isDone { return }
            for call in batch { call() }
            if operations.isSuspended { break }
        }
        operations.addOperation(Drain(self))
    }

    /// A session's own queue. A serial dispatch queue below it gets a thread whenever it has work; without one,
    /// operations share as many threads as there are processors, and a few delegates that block would hold up every
    /// session.
    private final class SerialQueue: OperationQueue, @unchecked Sendable {
        // Guarded by being immutable. An operation queue does not keep its underlying queue alive, hence this.
        private let dispatchQueue = DispatchQueue(label: "Purl.URLSession delegate")

        override init() {
            super.init()
            name = dispatchQueue.label
            maxConcurrentOperationCount = 1
            underlyingQueue = dispatchQueue
        }
    }

    /// One turn of the queue. Cancelling it does nothing: a call is made exactly once, whatever happens to the
    /// operation queue.
    private final class Drain: Operation, @unchecked Sendable {
        // Guarded by being immutable.
        private let queue: DelegateQueue

        init(_ queue: DelegateQueue) { self.queue = queue }

        override func main() { queue.drain() }
        override func cancel() {}
    }
}
