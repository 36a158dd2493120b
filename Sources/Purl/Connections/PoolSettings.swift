internal import PurlHTTP
internal import PurlIO

/// What a session has decided about its connections.
struct PoolSettings: Sendable {
    /// How many connections to one hop may be open; less than 1 counts as 1.
    var connectionsPerHost = 6
    var clock = SessionClock.system
    /// What a response's head may be.
    var headLimits = HeadLimits()
    /// How long a connection may leave what it is sent unacknowledged; `nil` for the system's own limit.
    var unacknowledgedLimit: Duration?
    /// What all connections together may receive in a second, and send.
    var rates = RateLimits()
    /// What makes the connections.
    var dialler: any Dialler
    /// Whether a dial failed because the process, or the system, has as many descriptors open as it may.
    var isShortage: @Sendable (DialError) -> Bool
}
