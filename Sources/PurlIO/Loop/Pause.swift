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
            // A simulated process that is killed resumes none, which a checked one would complain about.
            try await withUnsafeThrowingContinuation { continuation in
                NetworkActor.post { sleeper.start(delay, continuation) }
            }
        } onCancel: {
            NetworkActor.post { sleeper.cancel() }
        }
    }

    @NetworkActor private final class Sleeper {
        private var timer: LoopTimer?
        private var continuation: UnsafeContinuation<Void, any Error>?
        private var isCancelled = false

        nonisolated init() {}

        func start(_ delay: Duration, _ continuation: UnsafeContinuation<Void, any Error>) {
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
