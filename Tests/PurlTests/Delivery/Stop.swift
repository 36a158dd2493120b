import Foundation
import Synchronization

/// A place inside a delegate's call at which the call waits until the test lets it go on.
///
/// Opens once and stays open.
final class Stop: Sendable {
    private struct State {
        var isOpen = false
        var isReached = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let opening = DispatchSemaphore(value: 0)

    /// Blocks the calling thread until the stop is open.
    func pass() {
        let waiters = state.withLock { state in
            state.isReached = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
        guard !state.withLock({ $0.isOpen }) else { return }
        opening.wait()
        opening.signal()
    }

    /// Returns when somebody has come to the stop.
    func reached() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if !state.isReached { state.waiters.append(continuation) }
                return state.isReached
            }
            if isReached { continuation.resume() }
        }
    }

    /// Lets everybody go on.
    func open() {
        let isFirst = state.withLock { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
        if isFirst { opening.signal() }
    }
}
