/// How urgent a request is among those that wait for a connection: a number from 0 to 1.
package enum RequestPriority {
    /// The priority of a request that was given no other.
    package static let standard: Float = 0.5

    /// The nearest priority; what is not a number counts as the standard one.
    package static func clamped(_ priority: Float) -> Float {
        priority.isNaN ? standard : min(max(priority, 0), 1)
    }
}
