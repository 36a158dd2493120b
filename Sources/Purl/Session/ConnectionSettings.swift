import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

extension StreamConversation {
    /// A conversation with the settings of its session.
    nonisolated convenience init(_ request: URLRequest?, _ settings: URLSessionConfiguration.Values) {
        self.init(request, heldBytes: settings.limits.bufferedBytesPerTask, clock: settings.clock)
    }
}

/// A configuration's values as the parts of its session need them.
extension URLSessionConfiguration.Values {
    var pool: PoolSettings {
        let rateClock = rateClock ?? clock
        return PoolSettings(
            connectionsPerHost: httpMaximumConnectionsPerHost, clock: clock, headLimits: limits.heads,
            unacknowledgedLimit: limits.unacknowledgedLimit,
            rates: RateLimits(
                receiving: limits.bytesReceivedPerSecond.map { RateLimit(rate: $0, clock: rateClock) },
                sending: limits.bytesSentPerSecond.map { RateLimit(rate: $0, clock: rateClock) }),
            dialler: connectionDialler, isShortage: { $0.isShortage })
    }

    /// What the folder of a background session depends on; `nil` for any other session.
    var background: BackgroundSettings? {
        identifier.map {
            BackgroundSettings(
                identifier: $0, directory: backgroundSessionsDirectory,
                sharedContainerIdentifier: sharedContainerIdentifier, partialsFolder: partialDownloadsDirectory,
                files: files)
        }
    }

    /// The proxies of the session: a dictionary takes precedence over the environment.
    var proxies: ProxyRules {
        if let proxyDictionary { return ProxyRules(proxyDictionary) }
        return ProxyRules(environment: proxyVariables ?? ProxyRules.variables)
    }

    /// How connections are made secure by a provider; `nil` without one.
    func tls(_ provider: (any TLSProvider)?) -> TLSSettings? {
        guard let provider else { return nil }
        return TLSSettings(
            provider: provider, minimumVersion: tlsMinimumSupportedProtocolVersion,
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
