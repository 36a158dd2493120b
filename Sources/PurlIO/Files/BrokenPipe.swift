/// Keeps a write onto a pipe without a reader from ending the process: it fails with EPIPE and nothing else happens.
package enum BrokenPipe {
    /// Holds SIGPIPE back on this thread, for as long as there is one.
    static func holdBackSignalForGood() {
        var pipeOnly = sigset_t()
        sigemptyset(&pipeOnly)
        sigaddset(&pipeOnly, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipeOnly, nil)
    }

    /// Runs `body` with SIGPIPE held back on this thread, and takes the signal away that `body` has caused.
    ///
    /// The process's own way with the signal is not touched, as it would be by ignoring it.
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
