/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The `errno`.
    package let code: Int32
    /// The call, such as `connect`.
    package let operation: String

    package init(code: Int32, operation: String) {
        self.code = code
        self.operation = operation
    }

    /// The error that the call just made has left in `errno`.
    static func last(_ operation: String) -> SystemError {
        SystemError(code: errno, operation: operation)
    }

    package var description: String {
        "\(operation): \(strerror(code).map { String(cString: $0) } ?? "unknown error") (\(code))"
    }
}
