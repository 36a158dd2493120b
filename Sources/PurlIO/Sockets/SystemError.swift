/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The `errno`.
    package let code: Int32
    /// The call, such as `connect`.
    package let operation: String
    /// What code of the program's own has thrown, where that is what failed.
    package let cause: ThrownError?

    package init(code: Int32, operation: String, cause: ThrownError? = nil) {
        self.code = code
        self.operation = operation
        self.cause = cause
    }

    /// The error that the call just made has left in `errno`.
    static func last(_ operation: String) -> SystemError {
        SystemError(code: errno, operation: operation)
    }

    /// Whether the other end has closed the connection, rather than that the network is gone.
    package var isClosing: Bool { code == ECONNRESET || code == EPIPE }

    package var description: String {
        cause.map { "\(operation): \($0)" }
            ?? "\(operation): \(strerror(code).map { String(cString: $0) } ?? "unknown error") (\(code))"
    }
}

/// An error that code of the program's own has thrown. Each equals itself alone.
package final class ThrownError: Error, Sendable, Hashable, CustomStringConvertible {
    package let error: any Error

    package init(_ error: any Error) {
        self.error = error
    }

    package static func == (one: ThrownError, other: ThrownError) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }

    package var description: String { "\(error)" }
}
