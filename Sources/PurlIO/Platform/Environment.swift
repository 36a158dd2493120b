/// The process's environment, read one variable at a time: a dictionary of all of it takes as long as a small transfer.
package enum Environment {
    /// The value of a variable; `nil` when there is none. A simulated process has no variables.
    package static func value(of name: String) -> String? {
        if Simulated.machine != nil { return nil }
        return getenv(name).map { String(cString: $0) }
    }
}
