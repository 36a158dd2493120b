import Synchronization

#if SANITIZE_THREAD
    internal import PurlIO

    typealias Mutex = SanitizedMutex
#endif

/// A value that any thread may read and change, and that a task can wait for.
///
/// Waiting takes no thread and no time: the change that satisfies a waiter resumes its continuation.
package final class Monitor<Value: Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let isSatisfied: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var value: Value
        var waiters: [Waiter] = []
        var nextNumber = 0
        var cancelled: Set<Int> = []
    }

    private let state: Mutex<State>

    /// Starts with `value`.
    package init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// The value now.
    package var value: Value { state.withLock { $0.value } }

    /// A part of the value now, without a copy of the rest.
    package func read<Result: Sendable>(_ body: (Value) -> Result) -> Result {
        state.withLock { body($0.value) }
    }

    /// Changes the value, then resumes the tasks whose condition holds.
    @discardableResult
    package func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state -> (Result, [Waiter]) in
            let result = body(&state.value)
            guard !state.waiters.isEmpty else { return (result, []) }
            let ready = state.waiters.filter { $0.isSatisfied(state.value) }
            if !ready.isEmpty {
                let numbers = Set(ready.map(\.number))
                state.waiters.removeAll { numbers.contains($0.number) }
            }
            return (result, ready)
        }
        for waiter in ready { waiter.continuation.resume() }
        return result
    }

    /// Returns once `isSatisfied` holds, or when the task is cancelled. `isSatisfied` runs under the lock.
    package func wait(until isSatisfied: @escaping @Sendable (Value) -> Bool) async {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.cancelled.remove(number) != nil || isSatisfied(state.value) { return true }
                    let waiter = Waiter(number: number, isSatisfied: isSatisfied, continuation: continuation)
                    state.waiters.append(waiter)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let position = state.waiters.firstIndex(where: { $0.number == number }) else {
                    // The waiter has not been stored yet, or has been resumed. One not stored yet looks here first.
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiters.remove(at: position)
            }
            waiter?.continuation.resume()
        }
        _ = state.withLock { $0.cancelled.remove(number) }
    }
}
