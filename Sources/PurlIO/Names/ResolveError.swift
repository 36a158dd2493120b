/// Why a name has no address.
package enum ResolveError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no such name, or it has no address.
    case noSuchName(host: String)
    /// The question could not be asked or was not answered. `code` is one of `getaddrinfo`'s, or an `errno` when the
    /// failure is the system's.
    case failed(host: String, code: Int32, reason: String)

    package var description: String {
        switch self {
        case .noSuchName(let host): "\(host): no such name"
        case .failed(let host, _, let reason): "\(host): \(reason)"
        }
    }
}
