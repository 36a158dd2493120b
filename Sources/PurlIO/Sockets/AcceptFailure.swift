/// What to do about an `accept` that gave no connection.
enum AcceptFailure {
    /// Wait for the next one.
    case nothingWaiting
    /// That one connection went away before it was accepted; there may be others.
    case connectionLost
    /// No descriptors or memory now: the connection stays in the queue.
    case outOfResources

    /// The meaning of an `errno`.
    init(code: Int32) {
        switch code {
        case EAGAIN, EWOULDBLOCK:
            self = .nothingWaiting
        // accept(2): Linux passes on errors that are already pending on the new connection.
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENOPROTOOPT, EOPNOTSUPP,
            EPERM,
            ETIMEDOUT:
            self = .connectionLost
        default:
            self = .outOfResources
        }
    }
}
