import Foundation

/// Standard input, output and error.
enum StandardDescriptors {
    /// Opens those that the caller of the process has closed, so that no other file gets their numbers: what is printed would be
    /// written to it.
    static func fillGaps() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // It gets the lowest free number, and stays open. Writing there fails, and so does reading standard input.
            _ = open("/dev/null", (number == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
        }
    }
}
