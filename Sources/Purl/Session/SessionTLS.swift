internal import PurlIO

/// How a session makes its connections secure.
///
/// The rest of a configuration is fixed when a session is made, but not the program's default provider: `URLSession.shared`
/// and the sessions of libraries may exist before the program sets one.
@NetworkActor
final class SessionTLS {
    private let configuration: URLSessionConfiguration.Values
    private var settings: TLSSettings?
    /// The version of the program's default that the settings have; `nil` where the default does not count.
    private var version: Int?

    nonisolated init(_ configuration: URLSessionConfiguration.Values) {
        self.configuration = configuration
        switch configuration.tlsProviderChoice {
        case .programDefault:
            let current = DefaultTLSProvider.current
            version = current.version
            settings = configuration.tls(current.provider)
        case .provider(let provider): settings = configuration.tls(provider)
        case .none: break
        }
    }

    /// The settings of connections that are made now; `nil` where none can be made secure.
    ///
    /// - Parameter retireConnections: Called when a provider has been replaced. What it has trusted the next one may not.
    func settings(retireConnections: () -> Void) -> TLSSettings? {
        if let version, let replacement = DefaultTLSProvider.replacement(ofVersion: version) {
            self.version = replacement.version
            if settings != nil { retireConnections() }
            settings = configuration.tls(replacement.provider)
        }
        return settings
    }
}
