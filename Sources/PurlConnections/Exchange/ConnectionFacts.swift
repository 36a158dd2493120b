package import PurlIO

/// What can be told of a connection to those who watch. It lives as long as they do, not as long as the connection.
package final class ConnectionFacts: Sendable {
    package let local: SocketAddress?
    package let remote: SocketAddress?
    /// The other end is a proxy, or is reached through one.
    package let isProxied: Bool
    /// An earlier exchange used the connection.
    package let isReused: Bool
    /// How the connection was dialled; `nil` for a reused one, and for one through a tunnel.
    package let dialTimes: DialTimes?
    /// Whether a time is measured by the loop's clock, which is the session's: where it has another, dialling takes none.
    package let isTimed: Bool

    @NetworkActor
    package init(_ connection: HTTPConnection) {
        (local, remote) = connection.ends
        isProxied = connection.leadsToProxy
        isReused = connection.isReused
        dialTimes = connection.isReused ? nil : connection.dialTimes
        isTimed = connection.clock.custom == nil
    }
}
