/// What `purl` tells the shell.
enum ExitCode: Int32 {
    case success = 0
    /// The transfer, or a file, failed.
    case failure = 1
    /// The command line cannot be understood.
    case usage = 2
    /// The server answered with a status of 400 or above.
    case httpError = 22
    /// Somebody pressed Ctrl-C.
    case interrupted = 130
}
