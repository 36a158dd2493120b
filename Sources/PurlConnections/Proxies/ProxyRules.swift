internal import PurlIO

/// Which requests of a session go through a proxy.
package struct ProxyRules: Sendable {
    /// A host as patterns see it.
    struct Host {
        /// In small letters, without the dot that may end a full name.
        let name: String
        let port: UInt16
        /// The address, when the host is given in digits, also in those that only a look-up of names takes for one.
        let address: SocketAddress?

        init(_ name: String, port: UInt16) {
            let name = name.lowercased()
            self.name = name.hasSuffix(".") ? String(name.dropLast()) : name
            self.port = port
            address = SocketAddress(literal: name, port: port) ?? SocketAddress(shortened: name, port: port)
        }
    }

    private let plainProxy: Result<Proxy, ProxyFault>?
    private let secureProxy: Result<Proxy, ProxyFault>?
    private let exceptions: [HostPattern]
    private let excludesSimpleNames: Bool

    /// - Parameters:
    ///   - proxy: `nil`: none is used.
    ///   - secure: The same for `https` and `wss`.
    ///   - exceptions: Hosts that are reached without it.
    ///   - excludesSimpleNames: Names without a dot are reached without it, too.
    package init(
        _ proxy: Result<Proxy, ProxyFault>? = nil, secure: Result<Proxy, ProxyFault>? = nil,
        except exceptions: [HostPattern] = [], simpleNames: Bool = false
    ) {
        plainProxy = proxy
        secureProxy = secure
        self.exceptions = exceptions
        excludesSimpleNames = simpleNames
    }

    /// The proxy for a request; `nil` when requests go to the server directly.
    package func proxy(for target: TargetURI) throws(ProxyFault) -> Proxy? {
        // No other machine reaches a socket of this one.
        guard let proxy = target.origin.isSecure ? secureProxy : plainProxy,
            case .host(let name, let port) = target.origin.endpoint
        else { return nil }
        let host = Host(name, port: port)
        if excludesSimpleNames, host.address == nil, !host.name.contains(".") { return nil }
        return exceptions.contains { $0.matches(host) } ? nil : try proxy.get()
    }
}
