import Synchronization

/// The tasks of a session that are not over, and whether the session takes new ones.
///
/// A session that is being invalidated keeps itself alive through its tasks, until the last of them is removed.
final class TaskRegistry: Sendable {
    private enum Phase {
        case open
        /// Invalidated: waits for its tasks.
        case finishing
        /// Invalidated: its tasks have been cancelled.
        case cancelling
        /// The delegate has been called with the session's last call, or is about to be.
        case invalid
        /// The session was invalid from the start.
        case refused(TransferFailure)
    }

    private struct State {
        var phase = Phase.open
        var tasks: [Int: URLSessionTask] = [:]
        var lastIdentifier = 0
    }

    private let state = Mutex(State())

    /// The tasks whose completion has not been delivered, oldest first; none once all of them have been cancelled.
    var unfinishedTasks: [URLSessionTask] {
        let tasks: [URLSessionTask] = state.withLock { state in
            switch state.phase {
            case .open, .finishing: Array(state.tasks.values)
            case .cancelling, .invalid, .refused: []
            }
        }
        return
            tasks
            .filter { !$0.isOver }
            .sorted { $0.taskIdentifier < $1.taskIdentifier }
    }

    // MARK: Tasks

    /// Makes a task with the next identifier. If the session takes no new tasks, it is refused: not kept, it fails as soon
    /// as it is resumed.
    ///
    /// - Parameter prepare: Completes a task that the session takes, before any other thread can find it. What it returns
    ///   fails the task as soon as it is resumed.
    func addTask<Kind: URLSessionTask>(
        _ make: (_ identifier: Int) -> Kind, prepare: (Kind) -> TransferFailure?
    ) -> Kind {
        let (task, refusal) = state.withLock { state -> (Kind, TransferFailure?) in
            state.lastIdentifier += 1
            let task = make(state.lastIdentifier)
            switch state.phase {
            case .open:
                let failure = prepare(task)
                state.tasks[task.taskIdentifier] = task
                return (task, failure)
            case .finishing, .cancelling, .invalid: return (task, .sessionInvalidated)
            case .refused(let failure): return (task, failure)
            }
        }
        if let refusal { task.refuse(refusal) }
        return task
    }

    /// Makes a task with the next identifier that takes another's place. It is not a new task to a session that is being
    /// invalidated, which waits for it or cancels it as it would have done with the old one.
    func addSuccessor<Kind: URLSessionTask>(_ make: (_ identifier: Int) -> Kind) -> Kind {
        let (task, isCancelling) = state.withLock { state in
            state.lastIdentifier += 1
            let task = make(state.lastIdentifier)
            state.tasks[task.taskIdentifier] = task
            if case .cancelling = state.phase { return (task, true) }
            return (task, false)
        }
        if isCancelling { task.cancel() }
        return task
    }

    /// Adds the tasks that an earlier process left. New tasks have higher identifiers than any that process gave.
    func addRestored(_ tasks: [URLSessionTask], lastIdentifier: Int) {
        state.withLock { state in
            for task in tasks { state.tasks[task.taskIdentifier] = task }
            state.lastIdentifier = lastIdentifier
        }
    }

    func remove(_ task: URLSessionTask) {
        state.withLock { $0.tasks[task.taskIdentifier] = nil }
    }

    // MARK: Invalidation

    /// Refuses new tasks.
    func close() {
        state.withLock { state in
            if case .open = state.phase { state.phase = .finishing }
        }
    }

    /// Refuses new tasks, and cancels those there are.
    func cancelAll() {
        let tasks = state.withLock { state in
            switch state.phase {
            case .open, .finishing: state.phase = .cancelling
            case .cancelling, .invalid, .refused: break
            }
            return state.tasks.values.sorted { $0.taskIdentifier < $1.taskIdentifier }
        }
        for task in tasks { task.cancel() }
    }

    /// Refuses all tasks of a session that is invalid from the start.
    func refuseAll(_ failure: TransferFailure) {
        state.withLock { $0.phase = .refused(failure) }
    }

    /// True once, when no new tasks are taken and the last one has been removed.
    func becomesInvalid() -> Bool {
        state.withLock { state in
            switch state.phase {
            case .open, .invalid, .refused: return false
            case .finishing, .cancelling: break
            }
            guard state.tasks.isEmpty else { return false }
            state.phase = .invalid
            return true
        }
    }
}
