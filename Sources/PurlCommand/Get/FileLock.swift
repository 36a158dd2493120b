import Foundation

/// Keeps other transfers, of this process or another, away from a file while it lives.
final class FileLock: Sendable {
    /// Why there is no lock.
    enum Failure: Error {
        case cannotOpen
        /// Another has it, or had it and has moved the file away.
        case taken
    }

    private let descriptor: Int32

    /// Takes the lock that the library's sinks take, or fails at once.
    init(_ url: URL) throws(Failure) {
        descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw .cannotOpen }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.names(url, descriptor) else {
            close(descriptor)
            throw .taken
        }
    }

    deinit {
        close(descriptor)
    }

    /// Whether the open file is still the one of this name: its former holder may have moved it.
    private static func names(_ url: URL, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(url.path, &named) == 0 && open.st_ino == named.st_ino
            && open.st_dev == named.st_dev
    }
}
