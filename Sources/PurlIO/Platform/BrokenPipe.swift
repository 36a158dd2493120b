/// Keeps SIGPIPE from ending the process when a pipe without a reader is written to: the write only fails with EPIPE.
package enum BrokenPipe {
    /// Blocks SIGPIPE on this thread until the thread ends.
    static func blockSignalOnThisThread() {
        var pipeOnly = sigset_t()
        sigemptyset(&pipeOnly)
        sigaddset(&pipeOnly, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipeOnly, nil)
    }

    /// Runs `body` with SIGPIPE blocked on this thread, and consumes the signal if `body` has caused it.
    ///
    /// Ignoring the signal instead would change how the rest of the process handles it.
    package static func withoutSignal<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var pipeOnly = sigset_t()
        sigemptyset(&pipeOnly)
        sigaddset(&pipeOnly, SIGPIPE)
        let wasPending = isPending
        var before = sigset_t()
        guard pthread_sigmask(SIG_BLOCK, &pipeOnly, &before) == 0 else { return try body() }
        defer {
            if !wasPending, isPending {
                var taken: Int32 = 0
                _ = sigwait(&pipeOnly, &taken)
            }
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        return try body()
    }

    private static var isPending: Bool {
        var pending = sigset_t()
        sigemptyset(&pending)
        return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1
    }
}
