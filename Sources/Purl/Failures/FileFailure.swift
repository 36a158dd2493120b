import Foundation
internal import PurlIO

/// A file could not be made, opened, read, written or moved.
struct FileFailure: LocalizedError, CustomStringConvertible {
    enum Action {
        case create, open, read, write, move
    }

    let action: Action
    let url: URL?
    let underlying: any Error

    /// - Parameter underlying: What went wrong. A `FileFailure`, which names its own file and action, stays as it is.
    init(_ action: Action, _ url: URL?, _ underlying: any Error) {
        if let failure = underlying as? FileFailure {
            self = failure
            return
        }
        self.action = action
        self.url = url
        self.underlying = underlying
    }

    var code: URLError.Code {
        switch action {
        case .create: .cannotCreateFile
        case .open: .cannotOpenFile
        case .read: (underlying as? SystemError)?.codeOfReading ?? .cannotOpenFile
        case .write: .cannotWriteToFile
        case .move: .cannotMoveFile
        }
    }

    var errorDescription: String? { description }

    var description: String {
        let verb =
            switch action {
            case .create: "created"
            case .open: "opened"
            case .read: "read"
            case .write: "written"
            case .move: "moved"
            }
        return "\(url?.path ?? "The destination") could not be \(verb): \(underlying.reason)."
    }
}

extension SystemError {
    /// The code of a file that cannot be read.
    var codeOfReading: URLError.Code {
        switch code {
        case ENOENT, ENOTDIR: .fileDoesNotExist
        case EISDIR: .fileIsDirectory
        case EACCES, EPERM: .noPermissionsToReadFile
        default: .cannotOpenFile
        }
    }
}

extension Error {
    /// The error as `NSUnderlyingErrorKey` carries it: a failed system call becomes its POSIX error, every other stays
    /// itself, so that the owner of a sink or a connector finds what it threw.
    package var asUnderlying: any Error {
        if let thrown = self as? ThrownError { return thrown.error }
        guard let system = self as? SystemError else { return self }
        if let cause = system.cause { return cause.error }
        return NSError(
            domain: NSPOSIXErrorDomain, code: Int(system.code),
            userInfo: [NSLocalizedDescriptionKey: system.description])
    }

    /// The error in the fewest words: the system's own where it is the system's error.
    var reason: String {
        let error = asUnderlying as NSError
        if error.domain == NSPOSIXErrorDomain, let text = strerror(Int32(truncatingIfNeeded: error.code)) {
            return String(cString: text)
        }
        if let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError { return underlying.reason }
        // For an error without a description Foundation makes a sentence that names no reason.
        guard self is any LocalizedError || self is any CustomNSError || type(of: self) is NSError.Type else {
            return "\(self)"
        }
        let text = error.localizedDescription
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
