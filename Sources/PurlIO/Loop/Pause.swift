import Synchronization

/// Pauses of code that is not isolated to the network thread.
package enum Pause {
    /// Returns when `delay` has passed: a simulation's time on its thread.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package static func sleep(for delay: Duration) async throws {
        guard Simulated.machine != nil else { return try await Task.sleep(for: delay) }
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                NetworkActor.post { sleeper.start(delay, continuation) }
            }
        } onCancel: {
            NetworkActor.post { sleeper.cancel() }
        }
    }

    @NetworkActor private final class Sleeper {
        private var timer: LoopTimer?
        private var continuation: CheckedContinuation<Void, any Error>?
        private var isCancelled = false

        nonisolated init() {}

        func start(_ delay: Duration, _ continuation: CheckedContinuation<Void, any Error>) {
            if isCancelled { return continuation.resume(throwing: CancellationError()) }
            self.continuation = continuation
            timer = EventLoop.shared.schedule(after: delay) {
                self.continuation = nil
                continuation.resume()
            }
        }

        func cancel() {
            isCancelled = true
            timer?.cancel()
            let continuation = continuation
            self.continuation = nil
            continuation?.resume(throwing: CancellationError())
        }
    }
}
