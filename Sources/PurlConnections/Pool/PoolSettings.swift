package import PurlHTTP
package import PurlIO

/// What a session has decided about its connections.
package struct PoolSettings: Sendable {
    /// How many connections to one hop may be open; less than 1 counts as 1.
    package let connectionsPerHost: Int
    package let clock: SessionClock
    /// What a response's head may be.
    package let headLimits: HeadLimits
    /// How long a connection may leave what it is sent unacknowledged; `nil` for the system's own limit.
    package let unacknowledgedLimit: Duration?
    /// What all connections together may receive in a second, and send.
    package let rates: RateLimits
    /// What makes the connections.
    package let dialler: any Dialler
    /// Whether a dial failed because the process, or the system, has as many descriptors open as it may.
    package let isShortage: @Sendable (DialError) -> Bool

    package init(
        connectionsPerHost: Int, clock: SessionClock, headLimits: HeadLimits, unacknowledgedLimit: Duration?,
        rates: RateLimits, dialler: any Dialler, isShortage: @escaping @Sendable (DialError) -> Bool
    ) {
        self.connectionsPerHost = connectionsPerHost
        self.clock = clock
        self.headLimits = headLimits
        self.unacknowledgedLimit = unacknowledgedLimit
        self.rates = rates
        self.dialler = dialler
        self.isShortage = isShortage
    }
}
