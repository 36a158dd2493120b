import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// A configuration's values as its session's connections need them.
extension URLSessionConfiguration.Values {
    var pool: PoolSettings {
        let rateClock = rateClock ?? clock
        return PoolSettings(
            connectionsPerHost: httpMaximumConnectionsPerHost, clock: clock, headLimits: limits.heads,
            unacknowledgedLimit: limits.unacknowledgedLimit,
            rates: RateLimits(
                receiving: maximumBytesReceivedPerSecond.map { RateLimit(rate: $0, clock: rateClock) },
                sending: maximumBytesSentPerSecond.map { RateLimit(rate: $0, clock: rateClock) }),
            dialler: connectionDialler, isShortage: { $0.isShortage })
    }

    /// The proxies of the session: a dictionary takes precedence over the environment.
    var proxies: ProxyRules {
        if let proxyDictionary { return ProxyRules(proxyDictionary) }
        return ProxyRules(environment: proxyVariables ?? ProxyRules.variables)
    }

    /// How connections are made secure; `nil` without a provider.
    var tls: TLSSettings? {
        guard let tlsProvider else { return nil }
        return TLSSettings(
            provider: tlsProvider, minimumVersion: tlsMinimumSupportedProtocolVersion,
            maximumVersion: tlsMaximumSupportedProtocolVersion)
    }

    /// What makes the session's connections.
    private var connectionDialler: any Dialler {
        if let dialler { return dialler }
        if let connector { return ConnectorDialler(connector) }
        return NetworkDialler(
            resolver: resolver.map { ProvidedResolver($0) } ?? nameResolver,
            sockets: SocketOptions(isMultipath: multipathServiceType != .none, preparation: prepareSocket))
    }
}
