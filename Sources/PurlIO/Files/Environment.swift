/// The process's environment, asked for by name: making a dictionary of all of it takes as long as a small transfer.
package enum Environment {
    /// The value of a variable; nil when there is none.
    package static func value(of name: String) -> String? {
        Platform.environment(name)
    }
}
