import Dispatch
import Synchronization

/// Calls that run one at a time, in their order, on the threads of a worker's lane.
///
/// A queue takes a thread only while it has calls to make. When more queues have calls than the lane has threads, those that
/// came last wait until a thread is free; no other lane is held up by that.
package final class WorkQueue: Sendable {
    private enum State {
        case idle
        /// The lane has the queue's job, which makes these calls, and those that are added meanwhile.
        case scheduled([@Sendable () -> Void])
    }

    /// How often the calls that have been added are made before other queues that wait for a thread have their turn.
    private static let roundsOfJob = 16

    private let worker: Worker
    private let lane: Worker.Lane
    private let state = Mutex(State.idle)
    /// The thread that makes the calls; 0 while none does.
    private let thread = Atomic<UInt>(0)

    /// Makes a queue on a lane of a worker.
    package init(on lane: Worker.Lane, of worker: Worker = .shared) {
        self.worker = worker
        self.lane = lane
    }

    /// Whether the caller is a call of this queue.
    package var isCurrent: Bool {
        // Only this thread stores its own number, so comparing it with one's own needs no order.
        thread.load(ordering: .relaxed) == NativeThread.current
    }

    /// Adds a call after all earlier ones. From any thread.
    package func async(_ call: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            switch state {
            case .idle:
                state = .scheduled([call])
                return true
            case .scheduled(var calls):
                // Or else adding one would copy all.
                state = .idle
                calls.append(call)
                state = .scheduled(calls)
                return false
            }
        }
        if isFirst { schedule() }
    }

    /// Makes a call after all earlier ones, and returns when it has returned; at once within a call of this queue.
    package func sync(_ call: @escaping @Sendable () -> Void) {
        if isCurrent { return call() }
        if Simulated.machine != nil {
            async(call)
            return makeCalls()
        }
        let isDone = DispatchSemaphore(value: 0)
        async {
            call()
            isDone.signal()
        }
        isDone.wait()
    }

    private func schedule() {
        worker.run(on: lane) { self.makeCalls() }
    }

    private func makeCalls() {
        thread.store(NativeThread.current, ordering: .relaxed)
        for _ in 0..<Self.roundsOfJob {
            guard let calls = takeCalls() else { return }
            for call in calls { call() }
        }
        thread.store(0, ordering: .relaxed)
        schedule()
    }

    /// The calls that wait; `nil` when there are none, and the job is over.
    private func takeCalls() -> [@Sendable () -> Void]? {
        state.withLock { state in
            guard case .scheduled(let calls) = state, !calls.isEmpty else {
                // Within the lock: the next job may begin at once.
                thread.store(0, ordering: .relaxed)
                state = .idle
                return nil
            }
            state = .scheduled([])
            return calls
        }
    }
}
