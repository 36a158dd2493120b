import Foundation
import Synchronization

/// Events in order, and waiters for conditions on them.
final class EventLog<Event: Sendable>: Sendable {
    typealias Condition = @Sendable ([Event]) -> Bool

    private struct State {
        var events: [Event] = []
        var waiters: [(condition: Condition, resume: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events } }

    /// - Parameter join: One event for the last one and this one together; nil keeps both.
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

    /// Returns when the events fulfil the condition, or when the test is cancelled, as by its time limit.
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

/// An event that happens once, for which any number of tasks may wait.
final class Signal: Sendable {
    private let log = EventLog<Void>()

    var isSet: Bool { !log.events.isEmpty }

    func set() { log.append(()) }

    /// Returns when the event has happened, or when the test is cancelled, as by its time limit.
    func wait() async { await log.wait { !$0.isEmpty } }
}

/// A point inside a delegate's call at which the call waits until the test opens it.
///
/// Opens once and stays open.
final class CallBarrier: Sendable {
    private let reach = Signal()
    private let opening = DispatchSemaphore(value: 0)

    /// Blocks the calling thread until the barrier is open.
    func pass() {
        reach.set()
        opening.wait()
        opening.signal()
    }

    /// Returns when a call has reached this point.
    func reached() async { await reach.wait() }

    /// Lets every call continue, later ones included.
    func open() { opening.signal() }
}

/// A counter for any thread.
final class CallCounter: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    /// Adds one, and returns the new count.
    @discardableResult
    func add() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
