/// The exit status of `purl`.
enum ExitCode: Int32 {
    case success = 0
    /// A transfer or a file operation failed.
    case failure = 1
    /// The command line is invalid.
    case usage = 2
    /// The response had a status of 400 or above.
    case httpError = 22
    /// Ctrl-C, or SIGTERM.
    case interrupted = 130
}

/// An error that ends a command or a download.
struct CommandFailure: Error, Equatable {
    /// The error, as a sentence.
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}
