package import PurlTesting

extension ManualClock {
    /// Runs an operation while the clock advances to one deadline after the other.
    package func passTime<Value: Sendable>(during operation: () async throws -> Value) async rethrows -> Value {
        async let _: Void = passTimeUntilCancelled()
        return try await operation()
    }

    /// Advances the clock to one deadline after the other, until the calling task is cancelled.
    ///
    /// - Parameter deadlines: How many tasks and timers have to wait for the clock before it is advanced.
    package func passTimeUntilCancelled(withDeadlines deadlines: Int = 1) async {
        while !Task.isCancelled {
            await waitForDeadlines(deadlines)
            advanceToNextDeadline()
        }
    }
}
