import Synchronization

/// What was seen, in order, and those who wait for it.
final class EventLog<Event: Sendable>: Sendable {
    typealias Condition = @Sendable ([Event]) -> Bool

    private struct State {
        var events: [Event] = []
        var waiters: [(condition: Condition, resume: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events } }

    /// - Parameter join: What stands for the last event and this one together, if anything does.
    func append(_ event: Event, joining join: (_ last: Event) -> Event? = { _ in nil }) {
        let ready = state.withLock { state in
            if let joined = state.events.last.flatMap(join) {
                state.events[state.events.count - 1] = joined
            } else {
                state.events.append(event)
            }
            let events = state.events
            let ready = state.waiters.filter { $0.condition(events) }.map(\.resume)
            state.waiters.removeAll { $0.condition(events) }
            return ready
        }
        for continuation in ready { continuation.resume() }
    }

    /// Returns when what was seen fulfils the condition, or when the test is cancelled, as a time limit does it.
    func wait(until condition: @escaping Condition) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isFulfilled = state.withLock { state in
                    if condition(state.events) || Task.isCancelled { return true }
                    state.waiters.append((condition, continuation))
                    return false
                }
                if isFulfilled { continuation.resume() }
            }
        } onCancel: {
            let waiters = state.withLock { state in
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume.resume() }
        }
    }
}
