/// Why others than the process's user could have written what is at a path.
package enum Distrust: Error, Sendable, Hashable, CustomStringConvertible {
    /// It is a symbolic link.
    case link
    /// It belongs to another user, who has this number.
    case owner(UInt32)
    /// Others than its owner may write to it.
    case mode(UInt16)

    /// Looks at what is at `path`; `nil` when it is the process's user's alone, or nothing is there.
    package init?(ofPath path: String) {
        var found = stat()
        guard lstat(path, &found) == 0 else { return nil }
        if found.st_mode & S_IFMT == S_IFLNK {
            self = .link
        } else if found.st_uid != geteuid() {
            self = .owner(found.st_uid)
        } else if found.st_mode & (S_IWGRP | S_IWOTH) != 0 {
            self = .mode(UInt16(found.st_mode & 0o7777))
        } else {
            return nil
        }
    }

    /// The nearest of the system's errors.
    package var systemError: SystemError {
        switch self {
        case .link: SystemError(code: ELOOP, operation: "open")
        case .owner, .mode: SystemError(code: EPERM, operation: "open")
        }
    }

    package var description: String {
        switch self {
        case .link: "is a symbolic link"
        case .owner(let user): "belongs to another user (\(user))"
        case .mode(let mode): "can be written by other users (mode \(String(mode, radix: 8)))"
        }
    }
}
